import { JechoError } from "@jecho/shared";
import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import type { TracedEvent, TracedRun, Tracing } from "./options/tracing.ts";

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** One of so many events is traced, picked by its trace's id: the same one in all processes that say the same number. 1 by default. */
  readonly every?: number;
}

/** Most events of a run that are looked at, the newest ones: a modulator may make one event of a million. */
const MOST_OF_RUN = 1024;

type Identity = Pick<TracedEvent, "source" | "urgent" | "raised">;

/** The trace of an event: its id, and a context that spans of it begin in. */
interface EventTrace {
  readonly id: string;
  readonly context: Context;
}

/**
 * Spans of OpenTelemetry for what a session's producers publish, what modulators beside these make of it, and what its consumers are handed. All that
 * becomes of one raised event is one trace, in whatever process: its id comes of the event's count at its source, so that no event grows by
 * it. The span of `publish` links to the span that was active then; the span of `deliver` is active in the consumer's handler.
 *
 * ```ts
 * const session = connect("localhost:8080", { tracing: openTelemetry() });
 * ```
 *
 * @throws JechoError `ARGUMENT_INVALID` where `every` is no whole number from 1 on
 */
export function openTelemetry({ every = 1 }: OpenTelemetryOptions = {}): Tracing {
  if (!Number.isSafeInteger(every) || every < 1)
    throw new JechoError("ARGUMENT_INVALID", `every is a whole number from 1 on, not ${every}`);
  const tracer = trace.getTracer("@jecho/client");
  const traceOf = (event: Identity): EventTrace | undefined => {
    const low = mixed(event.source ^ mixed((BigInt(event.raised) << 1n) | (event.urgent ? 1n : 0n)));
    if (every > 1 && low % BigInt(every) !== 0n) return undefined;
    const id = hex(event.source) + hex(low);
    // All spans of the trace have the same parent, which nobody records: whoever met the event knows its id.
    const parent = { traceId: id, spanId: hex(mixed(low)), traceFlags: TraceFlags.SAMPLED, isRemote: true };
    return { id, context: trace.setSpanContext(ROOT_CONTEXT, parent) };
  };
  return {
    published(event, fromMs, untilMs) {
      const found = traceOf(event);
      if (found === undefined) return;
      const active = trace.getSpanContext(context.active());
      const links = active === undefined ? [] : [{ context: active }];
      const { name, attributes } = spanOf("publish", "send", event);
      const options = { kind: SpanKind.PRODUCER, startTime: fromMs, links, attributes };
      tracer.startSpan(name, options, found.context).end(untilMs);
    },
    modulated(run) {
      const { name, attributes: usual } = spanOf("modulate", "process", run);
      const options = { startTime: run.fromMs, attributes: { ...usual, "jecho.made": run.made } };
      for (let raised = Math.max(run.first, run.last - MOST_OF_RUN + 1); raised <= run.last; raised++) {
        const found = traceOf({ ...run, raised });
        if (found !== undefined) tracer.startSpan(name, options, found.context).end(run.untilMs);
      }
    },
    delivered(event, hand) {
      const found = traceOf(event);
      if (found === undefined) return hand(undefined);
      const { name, attributes } = spanOf("deliver", "process", event);
      const span = tracer.startSpan(name, { kind: SpanKind.CONSUMER, attributes }, found.context);
      try {
        const result = context.with(trace.setSpan(context.active(), span), () => hand(found.id));
        if (result instanceof Promise) void endWith(span, result);
        else span.end();
        return result;
      } catch (error) {
        fail(span, error);
        throw error;
      }
    },
  };
}

/** A span's name and attributes, as OpenTelemetry has them for messaging. */
function spanOf(operation: string, type: string, { channel }: TracedEvent | TracedRun) {
  const [, server = "", path = channel] = /^jecho:\/\/([^/]+)\/(.*)$/.exec(channel) ?? [];
  const attributes: Attributes = {
    "messaging.system": "jecho",
    "messaging.destination.name": path,
    "messaging.operation.name": operation,
    "messaging.operation.type": type,
    "server.address": server,
  };
  return { name: `${operation} ${path}`, attributes };
}

/** The handler is done when its promise is settled. */
async function endWith(span: Span, handled: Promise<unknown>): Promise<void> {
  try {
    await handled;
    span.end();
  } catch (error) {
    fail(span, error);
  }
}

function fail(span: Span, thrown: unknown): void {
  const error = JechoError.from(thrown, "HANDLER_FAILED");
  span.recordException(error);
  span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
  span.end();
}

/** Spreads 64 bits evenly (SplitMix64): counts that follow one another share nothing. */
function mixed(value: bigint): bigint {
  let bits = BigInt.asUintN(64, value + 0x9e3779b97f4a7c15n);
  bits = BigInt.asUintN(64, (bits ^ (bits >> 30n)) * 0xbf58476d1ce4e5b9n);
  bits = BigInt.asUintN(64, (bits ^ (bits >> 27n)) * 0x94d049bb133111ebn);
  return bits ^ (bits >> 31n);
}

function hex(bits: bigint): string {
  return bits.toString(16).padStart(16, "0");
}
