import type { Delegate, Limits, Modulator } from "@jecho/modulators";
import type { OptionNames } from "@jecho/shared/internal";
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

/* The names of all options, for `checkOptions`: what an application that has no compiler misspells is refused. */

const queue: OptionNames<EventQueueOptions> = { bytes: true, whenFull: true, batchDelayMs: true };

const limits: OptionNames<Limits> = {
  memoryMiB: true,
  totalMemoryMiB: true,
  callMs: true,
  installMs: true,
  timeShare: true,
  shareWindowMs: true,
  outputBytes: true,
  outputEvents: true,
  eventsPerSecond: true,
  bytesPerSecond: true,
  queueEvents: true,
  sourceBytes: true,
  parametersBytes: true,
};

export const CONNECT: OptionNames<ConnectOptions> = {
  name: true,
  others: true,
  neighbours: true,
  backoff: { firstMs: true, mostMs: true, random: true },
  connectTimeoutMs: true,
  queue,
  place: true,
  handover: true,
  token: true,
  modulators: {
    allow: true,
    trusted: true,
    local: true,
    mostPerEvent: true,
    engine: true,
    limits,
    pendingBytes: true,
    most: true,
  },
  tracing: true,
  modulating: true,
  onError: true,
};

export const NEIGHBOUR: OptionNames<Neighbour> = { address: true, others: true, token: true };

const delegate: OptionNames<Delegate> = {
  context: true,
  services: true,
  controls: true,
  log: true,
  requires: true,
};

export const PRODUCE: OptionNames<ProduceOptions> = {
  delegate,
  queue,
  signal: true,
  history: { events: true, seconds: true, latest: true, onDemand: true, durable: true },
  key: true,
};

export const WHEN_READY: OptionNames<WhenReadyOptions> = { signal: true };

export const SYNC: OptionNames<SyncOptions> = { timeoutMs: true, signal: true };

const consumer: OptionNames<ConsumerOptions> = {
  onError: true,
  onMissed: true,
  onRestart: true,
  queue: { whenFull: true, limitBytes: true },
  inboxEvents: true,
};

/** Option names of a pair, as a consumer is reset to it. */
export const PAIR: OptionNames<EagerHandler> = { modulator: true, demodulator: true, capabilities: true };

export const RESET: OptionNames<ResetOptions> = { sync: true };

export const SUBSCRIBE: OptionNames<SubscribeOptions> = {
  ...PAIR,
  ...consumer,
  signal: true,
  from: true,
  speed: true,
  label: true,
  as: true,
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
  key: true,
  objects: true,
  lazy: true,
  equals: true,
};

export const SHARE: OptionNames<ShareOptions> = { id: true };

export const ATTACH: OptionNames<AttachOptions> = { policy: true, signal: true };
