/** The link with which another device takes this page over: its token stands in the fragment, which no server gets to see. */
import { JechoError, type Session } from "@jecho/client";
import { useSession } from "@jecho/react";
import { useCallback, useEffect, useState } from "react";
import { accessToken, TOKEN } from "./access-token.ts";
import { takeFromFragment } from "./fragment.ts";

const NAME = "handover";

/** The token that this page was opened with, if any. It is taken out of the address bar and the history at once. */
export function useHandoverToken(): string | undefined {
  const [token, setToken] = useState(takeToken);
  useEffect(() => {
    const look = (): void => setToken(before => takeToken() ?? before);
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  return token;
}

const takeToken = (): string | undefined => takeFromFragment(NAME);

export interface HandoverLink {
  readonly href: string;
  /** As `Date.now()` gives it. */
  readonly expiresAt: number;
}

/** A token that is about to expire is of no use to somebody who has to find the phone first. */
const LEAST_VALID_MS = 20_000;

/** A link for another device, made when it is `wanted` of a session that is `live`, and kept as long as it is good. */
export function useHandoverLink(
  wanted: boolean,
  isLive: boolean,
): { link: HandoverLink | undefined; error: JechoError | undefined; renew: () => void } {
  const session = useSession();
  const [made, setMade] = useState<{ session: Session; link: HandoverLink }>();
  const [error, setError] = useState<JechoError>();
  const link = made?.session === session ? made?.link : undefined;
  const renew = useCallback(() => {
    if (session === undefined) return;
    setError(undefined);
    session.handover().then(
      ({ token, validMs }) => {
        // The other device has to be the same user's.
        const access = accessToken();
        const carried = new URLSearchParams({
          [NAME]: token,
          ...(access !== undefined && { [TOKEN]: access }),
        });
        const href = `${location.origin}${location.pathname}${location.search}#${carried}`;
        setMade({ session, link: { href, expiresAt: Date.now() + validMs } });
      },
      reason => setError(JechoError.from(reason)),
    );
  }, [session]);
  const isGood = link !== undefined && link.expiresAt - Date.now() > LEAST_VALID_MS;
  // biome-ignore lint/correctness/useExhaustiveDependencies: looked at when it is opened, not whenever time goes on
  useEffect(() => {
    if (wanted && isLive && !isGood) renew();
  }, [wanted, isLive, renew]);
  // A token does not outlive the connection that it was made at.
  useEffect(() => {
    if (!isLive) setMade(undefined);
  }, [isLive]);
  return { link, error, renew };
}
