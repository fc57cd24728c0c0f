import { encodeControl, encodeRun, type Outgoing } from "@jecho/shared/internal";
import type { Dice } from "./dice.ts";

const NAMES = ["a", "b", "a/b", "a#x", "b#x", "a#", "#", "", "a/b/c/d/e/f/g/h", "a b", "\u00e4", "../a"];
const TEXTS = [
  "",
  "x",
  "{}",
  "[]",
  '{"a":1}',
  "null",
  '{"__proto__":1}',
  "export default class {}",
  "x".repeat(300),
];
const IDS = ["", "one", "two", "x".repeat(64), "x".repeat(65)];
const NUMBERS = [0, 1, 2, 3, 4, 5, 8, 1000, 2 ** 31, 2 ** 32 - 2 ** 16, 2 ** 32 - 2, 2 ** 32 - 1];
const SCHEMA = new Uint8Array(0);
/** One frame in so many is of those that end a connection, unless they answer what was asked. */
const ENDING_EVERY = 128;
const LONGS = [0n, 1n, 2n, 100n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n];

/** A request of the gateway, and the frames that answer such. */
export interface Asked {
  readonly request: number;
  /** The derived channel that it is about; 0 for none. */
  readonly derived: number;
  readonly answers: readonly Outgoing["kind"][];
}

/** Numbers and requests that a client has heard from the gateway: with them, frames are about what is there. */
export interface Heard {
  /** Numbers of channels, endpoints, processes and the like. */
  readonly numbers: readonly number[];
  /** Requests of the gateway that were not answered yet. */
  readonly asked: Asked[];
}

const NOTHING: Heard = { numbers: [], asked: [] };

/** Frames as a client's process sends them, whether they make sense at this moment or not. @param heard a request in it is answered once */
export function sampleFrame(dice: Dice, heard = NOTHING): Uint8Array {
  return dice.below(4) === 0 ? sampleRun(dice, heard) : encodeControl(sampleControl(dice, heard));
}

/** A run of up to eight events. */
function sampleRun(dice: Dice, heard: Heard): Uint8Array {
  const events = Array.from({ length: 1 + dice.below(8) }, () => {
    const bytes = new Uint8Array(dice.below(100));
    return { bytes, start: 0, end: bytes.byteLength };
  });
  const [channel, producer] = [numberOf(dice, heard), numberOf(dice, heard)];
  const header = { channel, producer, raised: 1 + dice.below(1000), token: longOf(dice), parameters: 0 };
  return encodeRun({ ...header, flags: dice.below(4) }, events);
}

const textOf = (dice: Dice): string => dice.of(TEXTS) as string;
const idOf = (dice: Dice): string => dice.of(IDS) as string;
const longOf = (dice: Dice): bigint => dice.of(LONGS) as bigint;
function numberOf(dice: Dice, { numbers }: Heard): number {
  if (numbers.length > 0 && dice.below(4) > 0) return dice.of(numbers) as number;
  return dice.below(3) === 0 ? (dice.of(NUMBERS) as number) : 1 + dice.below(16);
}
const bytesOf = (dice: Dice): Uint8Array => new Uint8Array(dice.coin ? 0 : dice.below(64));

function sampleControl(dice: Dice, heard: Heard): Outgoing {
  const [name, text, id, long] = [dice.of(NAMES) as string, textOf(dice), idOf(dice), longOf(dice)];
  const [request, number, second] = [numberOf(dice, heard), numberOf(dice, heard), numberOf(dice, heard)];
  const bytes = bytesOf(dice);
  const state = { name: id, object: idOf(dice), version: number, state: text, lazy: dice.coin };
  const source = {
    source: long,
    urgent: dice.coin,
    raised: longOf(dice),
    origin: longOf(dice),
    through: longOf(dice),
  };
  // Requests are answered, mostly as they should be.
  const asked = dice.below(4) > 0 ? heard.asked.shift() : undefined;
  const answered = asked?.request ?? request;
  const answers: Readonly<Partial<Record<Outgoing["kind"], () => Outgoing>>> = {
    Installed: () => ({
      kind: "Installed",
      request: answered,
      derived: asked?.derived ?? number,
      schema: dice.coin ? SCHEMA : bytes,
      needs: [text],
      reads: dice.coin ? SCHEMA : bytes,
    }),
    Refused: () => ({ kind: "Refused", request: answered, code: 4000 + dice.below(600), message: text }),
    Noted: () => ({ kind: "Noted", request: answered }),
    Yielded: () => ({
      kind: "Yielded",
      request: answered,
      places: [
        { consumer: number, epoch: second, seq: long, sources: [source], label: text, sinceMs: number },
      ],
      copies: [number, second],
    }),
  };
  if (asked !== undefined) {
    const kind = dice.below(16) > 0 ? dice.of(asked.answers) : undefined;
    return ((kind && answers[kind]) ?? (dice.of(Object.values(answers)) as () => Outgoing))();
  }
  // Frames that nobody asked for, and those that only a gateway, or a host, sends.
  const endings: readonly (() => Outgoing)[] = [
    () => ({
      kind: "Hello",
      protocol: dice.below(3),
      name: text,
      handover: textOf(dice),
      token: text,
      inquires: dice.coin,
    }),
    () => ({ kind: "Impaired", derived: number, code: 4000 + dice.below(600), message: text }),
    () => ({ kind: "Welcome", heartbeatMs: number }),
    () => ({ kind: "Install", request, channel: number, derived: second }),
    () => ({ kind: "Done", derived: number, batch: second, dropped: 0, waiting: request, cpuMs: 1 }),
    () => ({ kind: "Passed", derived: number, ranges: [second, request] }),
    () => ({ kind: "Period", derived: number, periodMs: second }),
    () => ({ kind: "Rate", derived: number, mostPerSecond: second }),
    () => ({ kind: "Calls", derived: number, calls: bytes }),
  ];
  const frames: readonly (() => Outgoing)[] = [
    () => ({ kind: "Ping", time: number }),
    () => ({
      kind: "OpenProducer",
      request,
      channel: name,
      schema: bytes,
      modulates: dice.coin,
      key: id,
      source: long,
      instance: id,
      raised: longOf(dice),
    }),
    () => ({ kind: "OpenConsumer", request, channel: name, schema: bytes, label: id }),
    () => ({
      kind: "OpenConsumer",
      request,
      channel: name,
      as: dice.coin ? "x" : id,
      queue: { whenFull: dice.below(6), limitBytes: second },
      from: { from: dice.below(6), epoch: number, seq: long, at: second, speed: dice.below(3) },
      modulator: {
        source: text,
        parameters: textOf(dice),
        key: id,
        objects: dice.coin ? [] : [state],
        capabilities: dice.coin ? [] : [text],
        compares: dice.coin,
      },
      sources: [source],
      compared: number,
    }),
    () => ({ kind: "OpenConsumer", request, channel: name, feed: { process: number, channel: second } }),
    () => ({ kind: "CloseEndpoint", endpoint: number }),
    () => ({
      kind: "ObjectUpdate",
      object: id,
      version: number,
      state: text,
      derived: dice.coin ? 0 : second,
    }),
    () => ({
      kind: "OpenObject",
      request,
      object: id,
      term: second,
      terms: [number, second, number],
      version: number,
      state: text,
      lazy: dice.coin,
    }),
    () => ({ kind: "PullObject", copy: number, derived: second, object: id }),
    () => ({ kind: "ObjectWrite", copy: number, writer: second, write: request, patch: text, by: id }),
    () => ({ kind: "ObjectTaken", copy: number, write: second }),
    () => ({ kind: "Ack", channel: number, seq: second, consumers: request, failed: number, message: text }),
    () => ({ kind: "WantType", request, token: long }),
    () => ({ kind: "WantTypes", request, channel: name }),
    () => ({ kind: "WantOverview", request, pattern: name }),
    () => ({
      kind: "Position",
      channel: number,
      producer: second,
      urgent: dice.coin,
      source: long,
      raised: longOf(dice),
      process: request,
      origin: longOf(dice),
      after: longOf(dice),
      through: longOf(dice),
    }),
    () => ({
      kind: "Departed",
      channel: name,
      source: long,
      raised: longOf(dice),
      raisedUrgent: long,
      agoMs: number,
    }),
    () => ({ kind: "GiveUp", channel: number, producer: second, raised: long }),
    () => ({
      kind: "Removed",
      derived: number,
      code: 4000 + dice.below(600),
      message: text,
      process: second,
    }),
    () => ({ kind: "Flow", derived: number, ready: dice.coin }),
    () => ({ kind: "AskHandover", request }),
    () => ({ kind: "Token", token: text }),
    () => ({ kind: "Kick", request, subject: id }),
  ];
  if (dice.below(ENDING_EVERY) === 0)
    return (dice.of([...Object.values(answers), ...endings]) as () => Outgoing)();
  return (dice.of(frames) as () => Outgoing)();
}
