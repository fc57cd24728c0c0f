import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import {
  type EventChannel,
  type FieldInfo,
  JechoError,
  json,
  type Producer,
  type Session,
  type Type,
} from "@jecho/client";
import { typeFromFbs } from "@jecho/client/fbs";
import type { Command } from "commander";
import { meet } from "./meet.ts";
import { type GatewayAnswering, positive, print, type Screen, UsageError, withGateway } from "./screen.ts";

interface PublishOptions extends GatewayAnswering {
  readonly fbs?: string;
  readonly recorded?: boolean;
  readonly rate?: number;
  readonly wait?: boolean;
}

type Fields = Record<string, unknown>;

/** `jecho pub` */
export function addPub(program: Command, screen: Screen): void {
  const command = program
    .command("pub")
    .argument("<channel>", "its name: jecho://HOST:PORT/NAME, or NAME alone")
    .argument("[file]", "lines of JSON, an event each; without one, or as -, standard input")
    .summary("publishes events, each a line of JSON")
    .description(
      "Publishes events. They have the type that --fbs names, else that of the channel's present producers; where there is none, the events of the untyped channel are the lines' JSON. Producers wait for consumers that block.",
    )
    .option("--fbs <FILE>", "the events' type, as text in FlatBuffers' schema language")
    .option("--recorded", "the lines are those that jecho sub --json prints")
    .option("--rate <N>", "at most so many events a second", positive)
    .option(
      "--wait",
      "begin when somebody listens: what nobody listens to goes nowhere, unless the gateway keeps it",
    )
    .option("--json", "print a line of JSON at the end");
  withGateway(command, "publish (and, without --fbs, subscribe)").action(
    (channel: string, file: string | undefined, options: PublishOptions) =>
      publish(channel, file, options, screen),
  );
}

/** @throws JechoError, UsageError */
async function publish(
  channel: string,
  file: string | undefined,
  options: PublishOptions,
  screen: Screen,
): Promise<void> {
  const { signal } = screen;
  const declared =
    options.fbs === undefined ? undefined : typeFromFbs<Fields>(await readFile(options.fbs, "utf8"));
  await meet({ channel, ...options, ...screen }, async session => {
    const type = declared ?? (await typeAt(session.channel(channel)));
    const producer = await open(session, channel, type);
    if (options.wait === true) await untilDemanded(producer, signal);
    const input = file === undefined || file === "-" ? process.stdin : createReadStream(file);
    const startedAt = performance.now();
    let events = 0;
    let number = 0;
    for await (const line of createInterface({ input, signal })) {
      number++;
      if (line.trim() === "") continue;
      if (options.rate !== undefined)
        await delay(Math.max(0, startedAt + (1000 * events) / options.rate - performance.now()), undefined, {
          signal,
        });
      if (!producer.isReady) await producer.ready({ signal });
      try {
        producer.publish(eventOf(line, options.recorded === true, type));
      } catch (error) {
        const { code, message } = JechoError.from(error, "EVENT_INVALID");
        throw new JechoError(code, `line ${number}: ${message}`);
      }
      events++;
    }
    await producer.close();
    print(
      screen,
      options.json,
      { channel, type: type?.name, events },
      `${events} event${events === 1 ? "" : "s"} published`,
    );
  });
}

/** Type that present producers write there: events of a type that they do not have would be refused. */
async function typeAt(channel: EventChannel<Uint8Array>): Promise<Type<Fields> | undefined> {
  const types = await channel.types();
  if (types.length > 1)
    throw new UsageError(
      `producers write ${types.map(({ name }) => name).join(", ")} there: say which type by --fbs`,
    );
  return types[0] as Type<Fields> | undefined;
}

function open(session: Session, name: string, type: Type<Fields> | undefined): Promise<Producer<Fields>> {
  return type === undefined
    ? session.channel(name, json<Fields>()).produce()
    : session.channel(name, type).produce();
}

function untilDemanded(producer: Producer<Fields>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    const stop = producer.onDemand(look);
    look();
    function look(): void {
      if (producer.demand.total === 0) return;
      stop?.();
      resolve();
    }
  });
}

function eventOf(line: string, isRecorded: boolean, type: Type<Fields> | undefined): Fields {
  const read = JSON.parse(line) as unknown;
  const event = isRecorded ? (read as { event?: unknown } | null)?.event : read;
  if (type === undefined) return event as Fields;
  if (typeof event !== "object" || event === null || Array.isArray(event))
    throw new JechoError(
      "EVENT_INVALID",
      isRecorded ? "it has no event, as jecho sub --json prints it" : "it is no object",
    );
  for (const name of Object.keys(event))
    if (!type.fields.some(field => field.name === name))
      throw new JechoError(
        "EVENT_INVALID",
        `${type.name} has no field "${name}"; it has ${type.fields.map(field => field.name).join(", ")}`,
      );
  return inflated(event as Fields, type.fields);
}

/** Whole numbers that a number of JSON cannot hold are texts there. */
function inflated(event: Fields, fields: readonly FieldInfo[]): Fields {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => {
      const field = fields.find(one => one.name === name);
      return [name, field === undefined ? value : inflate(value, field)];
    }),
  );
}

function inflate(value: unknown, field: FieldInfo): unknown {
  if (Array.isArray(value)) return value.map(one => inflate(one, field));
  if (typeof value === "object" && value !== null) return inflated(value as Fields, field.fields);
  const isWide = field.kind === "int64" || field.kind === "uint64";
  return isWide && (typeof value === "string" || typeof value === "number") ? BigInt(value) : value;
}
