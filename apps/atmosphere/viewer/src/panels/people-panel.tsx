import { JechoError } from "@jecho/client";
import { useSession } from "@jecho/react";
import { type ReactNode, useState } from "react";
import { accessToken, mayKick } from "../access-token.ts";
import type { PageState } from "../page-state.ts";
import { isHeard, usePageState } from "./use-page-state.ts";

/** Users who look on, where the gateway knows users. An operator can end the connections of others. */
export function PeoplePanel({ page }: { page: PageState }): ReactNode {
  const session = useSession();
  const { latest } = page;
  const [said, setSaid] = useState("");
  const state = usePageState(page);
  const people = isHeard(state) ? (latest.simulation?.watchers ?? []) : [];
  if (people.length === 0) return null;
  const end = (subject: string): void => {
    session?.kick(subject).then(
      count => setSaid(`${subject} had ${count} ${count === 1 ? "connection" : "connections"}, which ended`),
      reason => setSaid(`${JechoError.from(reason).code}: ${JechoError.from(reason).message}`),
    );
  };
  const isOperator = mayKick(accessToken());
  return (
    <section className="panel" aria-label="People" data-testid="people" data-operator={isOperator}>
      <h2>People</h2>
      <ul>
        {people.map(subject => (
          <li key={subject} data-subject={subject}>
            <span className="grows">
              {subject}
              {subject === session?.subject && " (this page)"}
            </span>
            {isOperator && subject !== session?.subject && (
              <button
                type="button"
                className="quiet"
                title="End all connections of this user. The tokens that they have are not taken again."
                onClick={() => end(subject)}
              >
                End
              </button>
            )}
          </li>
        ))}
      </ul>
      <p className="said" role="status" data-testid="people-said">
        {said}
      </p>
    </section>
  );
}
