import type { Delegate, Limits, Modulator } from "@jecho/modulators";
import { FLAG, FUNCTION, NUMBER, type OptionNames, TEXT, WHOLE } from "@jecho/shared/internal";
import type { AttachOptions, ShareOptions } from "../objects/shared-copies.ts";
import type { EventQueueOptions } from "../queues/queue-options.ts";
import type { ConnectOptions, Neighbour } from "./connect-options.ts";
import type {
  ConsumerOptions,
  EagerHandler,
  ResetOptions,
  SubscribeOptions,
  TakeOverOptions,
} from "./consumer-options.ts";
import type { ProduceOptions, SyncOptions, WhenReadyOptions } from "./producer-options.ts";

/* The names and kinds of all options, for `checkOptions`: what an application without a compiler gets wrong is refused. `true` is checked elsewhere. */

const TOKEN = "a string or a function";

const queue: OptionNames<EventQueueOptions> = {
  bytes: true,
  whenFull: '"error", "drop-oldest" or "block"',
  batchDelayMs: NUMBER,
};

const limits: OptionNames<Limits> = {
  memoryMiB: NUMBER,
  totalMemoryMiB: NUMBER,
  callMs: NUMBER,
  installMs: NUMBER,
  timeShare: NUMBER,
  shareWindowMs: NUMBER,
  outputBytes: NUMBER,
  outputEvents: NUMBER,
  eventsPerSecond: NUMBER,
  bytesPerSecond: NUMBER,
  queueEvents: NUMBER,
  sourceBytes: NUMBER,
  parametersBytes: NUMBER,
};

export const CONNECT: OptionNames<ConnectOptions> = {
  name: TEXT,
  others: true,
  neighbours: true,
  backoff: { firstMs: NUMBER, mostMs: NUMBER, random: FUNCTION },
  connectTimeoutMs: NUMBER,
  queue,
  place: '"here", "worker" or "shared"',
  handover: TEXT,
  token: TOKEN,
  modulators: {
    allow: '"any", "standard", "none" or an object { signedBy }',
    trusted: true,
    local: FLAG,
    mostPerEvent: NUMBER,
    engine: '"isolated-vm" or "quickjs"',
    limits,
    pendingBytes: NUMBER,
    most: NUMBER,
  },
  tracing: true,
  modulating: TEXT,
  onError: FUNCTION,
};

export const NEIGHBOUR: OptionNames<Neighbour> = {
  address: true,
  others: true,
  token: TOKEN,
};

const delegate: OptionNames<Delegate> = {
  context: true,
  services: true,
  controls: true,
  log: FUNCTION,
  requires: true,
};

export const PRODUCE: OptionNames<ProduceOptions> = {
  delegate,
  queue,
  signal: true,
  history: { events: WHOLE, seconds: NUMBER, latest: FLAG, onDemand: FLAG, durable: FLAG },
  key: TEXT,
};

export const WHEN_READY: OptionNames<WhenReadyOptions> = { signal: true };

export const SYNC: OptionNames<SyncOptions> = { timeoutMs: true, signal: true };

const consumer: OptionNames<ConsumerOptions> = {
  onError: FUNCTION,
  onMissed: FUNCTION,
  onRestart: FUNCTION,
  queue: { whenFull: '"drop-oldest", "latest", "disconnect" or "block"', limitBytes: WHOLE },
  inboxEvents: NUMBER,
};

/** Option names of a pair, as a consumer is reset to it. */
export const PAIR: OptionNames<EagerHandler> = { modulator: true, demodulator: true, capabilities: true };

export const RESET: OptionNames<ResetOptions> = { sync: FLAG };

export const SUBSCRIBE: OptionNames<SubscribeOptions> = {
  ...PAIR,
  ...consumer,
  signal: true,
  from: true,
  speed: NUMBER,
  label: true,
  as: TEXT,
};

export const TAKE_OVER: OptionNames<TakeOverOptions<unknown>> = {
  ...consumer,
  type: true,
  demodulator: true,
  signal: true,
};

/** Option names of a modulator, beside its text. */
export const MODULATOR: OptionNames<Omit<Modulator, "source">> = {
  parameters: true,
  key: TEXT,
  objects: true,
  lazy: true,
  equals: FUNCTION,
};

export const SHARE: OptionNames<ShareOptions> = { id: true };

export const ATTACH: OptionNames<AttachOptions> = { policy: '"prompt" or "lazy"', signal: true };
