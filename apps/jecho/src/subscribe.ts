import { type EventInfo, JechoError, type Placement, type Session, unpack } from "@jecho/client";
import type { Command } from "commander";
import {
  checkExpression,
  checkFields,
  derivationOf,
  describePlacements,
  inExpression,
} from "./derivation.ts";
import { LineWriter } from "./line-writer.ts";
import { meet } from "./meet.ts";
import {
  count,
  counted,
  each,
  type GatewayAnswering,
  type Screen,
  UsageError,
  withGateway,
} from "./screen.ts";
import { pick, plain, toJson } from "./values.ts";

/** So many lines of JSON wait for their reader; further events wait at the gateway, in a queue that drops the oldest. */
const WAITING_LINES = 16;

interface SubscribeOptions extends GatewayAnswering {
  readonly where?: string;
  readonly modulator?: string;
  readonly field?: readonly string[];
  readonly count?: number;
}

/** `jecho sub` */
export function addSub(program: Command, screen: Screen): void {
  const command = program
    .command("sub")
    .argument("<channel>", "its name: jecho://HOST:PORT/NAME, or NAME alone")
    .summary("prints the events of a channel, a line each")
    .description(
      "Prints the events of a channel, whatever their type. Of a long array its length, range and mean are shown. Events that come faster than a line for each can be printed are skipped; with --json they wait, and what is lost by that is counted.",
    )
    .option(
      "--where <EXPRESSION>",
      "only events for which it is true, which are chosen where they are raised: 'event.celsius > 30'",
    )
    .option("--modulator <FILE>", "what the modulator in this file makes of them there")
    .option(
      "--field <NAME>",
      "only this field; may be repeated, and NAME.INNER is a field of a nested table",
      each,
    )
    .option(
      "--json",
      "each event as one line of JSON, with all its numbers, and at a gateway with keys who raised it (by)",
    )
    .option("--count <N>", "end after so many lines", count);
  withGateway(command, "subscribe and, for an expression or modulator, modulate").action(
    (channel: string, options: SubscribeOptions) => subscribe(channel, options, screen),
  );
}

/** @throws JechoError, UsageError */
async function subscribe(channel: string, values: SubscribeOptions, screen: Screen): Promise<void> {
  const { out, note, signal } = screen;
  const most = values.count ?? Number.POSITIVE_INFINITY;
  const modulator = await derivationOf(values);
  const said = (text: string): string =>
    values.where === undefined ? text : inExpression(text, values.where);
  const lines = new LineWriter(out);
  let announced: bigint | undefined;
  let shown = 0;
  let skipped = 0;
  let missed = 0;
  const print = async (session: Session): Promise<void> => {
    const found = session.channel(channel);
    const types = await found.types();
    if (types.length === 0) {
      if (values.where !== undefined) checkExpression(values.where);
      note(`# nobody produces at ${found.name} yet, or its events have no type; waiting for events`);
    }
    checkFields(values.where ?? "", types);
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => resolve());
      session.onStatus(({ state, error }) => {
        if (state === "reconnecting")
          note(`# the connection broke and is being made again: ${error?.message ?? ""}`);
        if (state === "refused") reject(error);
      });
      const take = (event: unknown, { seq, producer, by, type }: EventInfo): unknown => {
        if (shown >= most) return;
        if (values.json !== true && lines.isBusy) return void skipped++;
        if (type !== undefined && type.token !== announced) {
          note(`# ${type.name}: ${type.fields.map(({ name, written }) => `${name} ${written}`).join(", ")}`);
          announced = type.token;
        }
        const whole = unpack(event);
        let fields = whole;
        try {
          if (values.field !== undefined) fields = pickAll(whole, values.field);
        } catch (error) {
          return reject(error);
        }
        if (++shown === most) resolve();
        if (values.json === true) return lines.write(toJson({ seq, producer, by, event: fields }));
        lines.writeEvent(seq, plain(fields, type?.fields ?? []));
      };
      found
        .subscribe(take, {
          signal,
          modulator,
          inboxEvents: WAITING_LINES,
          onError: error => note(`${error.code}: ${said(error.message)}`),
          onMissed: ({ events }) => {
            missed += events;
          },
        })
        .then(consumer => {
          const sayWhere = (placements: readonly Placement[]) =>
            describePlacements(placements).map(said).forEach(note);
          sayWhere(consumer.placements);
          consumer.onPlacements(sayWhere);
          consumer.onStatus(({ state, error }) => state === "refused" && reject(error));
        })
        .catch(reject);
    });
  };
  try {
    await meet({ channel, ...values, ...screen }, print);
  } catch (error) {
    throw error instanceof JechoError ? new JechoError(error.code, said(error.message)) : error;
  }
  if (signal.aborted) return;
  if (skipped > 0) note(`# ${counted(skipped, "event")} came faster than they could be printed`);
  if (missed > 0)
    note(
      `# ${counted(missed, "event")} missed: what came faster than it could be printed, or was lost on its way`,
    );
}

function pickAll(event: unknown, names: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const name of names) {
    const found = pick(event, name);
    if (found === undefined) throw new UsageError(`the events have no field "${name}"`);
    picked[name] = found.value;
  }
  return picked;
}
