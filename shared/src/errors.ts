/**
 * One table of everything that can go wrong between the parts of JEcho.
 *
 * Numbers from 4000 to 4499 say "try again", numbers from 4500 to 4999 say "do not, it will not get better".
 * A number doubles as the WebSocket close code where the error ends the connection. Programs match on `code`
 * or `number`, never on the message.
 */
export const ERRORS = {
  GATEWAY_STOPPING: [4000, "The gateway is going down in an orderly way; connect again."],
  HEARTBEAT_MISSED: [4001, "The other side was silent for longer than the heartbeat allows."],
  SLOW_CONSUMER: [
    4002,
    "The consumer did not read fast enough and was cut off to bound the gateway's memory.",
  ],
  CONNECTION_LOST: [4003, "The connection broke before the answer came."],
  TIMED_OUT: [4004, "No answer came within the time allowed."],
  PRODUCER_GONE: [4005, "A producer left before it could answer."],
  MODULATOR_HOST_FAILED: [4006, "The modulator host ended unexpectedly; it is being replaced."],
  OVERLOADED: [4007, "A limit of this gateway is reached; try again later."],
  QUEUE_FULL: [4008, "The queue of outgoing events is full; the event was not taken."],
  DERIVED_UNKNOWN: [4009, "Nobody derives a channel of this name at present."],
  MODULATOR_RESTARTED: [4010, "The modulator began anew, without the state that it had."],
  HISTORY_IN_USE: [4011, "Another gateway keeps its history in this file."],
  TOKEN_EXPIRED: [4012, "The connection's token is too old; connect again with a newer one."],
  MODULATOR_SUSPENDED: [
    4014,
    "The modulator, or another one of its subject, has ended hosts of modulators or timed out again and again; it is refused for a while.",
  ],
  RIGHTS_CHANGED: [4013, "The connection's new token lacks rights that the former one had; connect again."],
  MESSAGE_DAMAGED: [4015, "A message was changed on the way: its checksum is wrong; connect again."],
  FRAME_MALFORMED: [4500, "A frame does not follow the wire format."],
  FRAME_TOO_LARGE: [4501, "A frame is larger than the gateway accepts."],
  FRAME_UNEXPECTED: [4502, "A frame is well-formed but not allowed from this side or at this moment."],
  PROTOCOL_UNSUPPORTED: [4503, "The two sides do not speak a common version of the protocol."],
  CHANNEL_NAME_INVALID: [
    4510,
    "A channel name does not have the form jecho://HOST:PORT/NAME or jecho://IDENTITY/NAME.",
  ],
  CHANNEL_ELSEWHERE: [4511, "The channel is at another gateway than the connected one."],
  ENDPOINT_UNKNOWN: [4512, "The endpoint that a frame speaks of does not exist on this connection."],
  DERIVED_TAKEN: [4513, "Another modulator derives a channel of this name."],
  TYPE_INVALID: [4520, "A type's schema cannot be used."],
  TYPE_MISMATCH: [4521, "The types of the two sides cannot be matched."],
  TYPE_UNKNOWN: [4522, "No type is registered under this token."],
  EVENT_INVALID: [4523, "An event does not fit the type of its channel."],
  TYPE_UNREAD: [4524, "None of a channel's consumers can read the type of a producer's events."],
  MODULATOR_INVALID: [
    4530,
    "The modulator's source is not a module with a default class, or does not compile.",
  ],
  MODULATOR_FAILED: [4531, "The modulator threw an error."],
  MODULATOR_TIMED_OUT: [4532, "The modulator used more time than a call may take."],
  MODULATOR_OUT_OF_MEMORY: [4533, "The modulator used more memory than it may."],
  MODULATOR_OUTPUT_EXCEEDED: [4534, "The modulator made more output than it may."],
  MODULATOR_TOO_LARGE: [4535, "The modulator's source or parameters are larger than the limit."],
  MODULATOR_QUOTA_EXCEEDED: [4536, "One connection has more modulators installed than it may."],
  MODULATORS_NOT_SERVED: [4537, "A producer of this channel runs no modulators."],
  SERVICE_MISSING: [4538, "A service that the modulator needs is not offered."],
  PARAMETERS_INVALID: [
    4539,
    "The parameters are not plain data, or the modulator refused them or the state of a shared object.",
  ],
  OBJECT_INVALID: [4540, "A shared object's state is not plain data within the size limit."],
  DEMODULATOR_FAILED: [4541, "The demodulator threw an error."],
  HANDLER_FAILED: [4542, "A consumer's handler failed on the event."],
  ACK_UNEXPECTED: [4543, "An acknowledgement is of an event that was not sent, or was acknowledged before."],
  SERVICE_NOT_GRANTED: [
    4544,
    "A service that the modulator needs takes a capability that its consumer has not.",
  ],
  DELEGATE_FAILED: [4545, "A producer's delegate failed at what a modulator asked of it."],
  HISTORY_EXCEEDED: [4546, "The place asked for lies beyond the channel's newest event."],
  HANDOVER_INVALID: [4547, "The handover token is unknown, used or too old."],
  HANDED_OVER: [4548, "The session was handed over to another device."],
  OBJECT_UNKNOWN: [4549, "No shared object has this id."],
  CLOSED: [4550, "The session or endpoint is closed."],
  ARGUMENT_INVALID: [4551, "An argument is not of the form that the call takes."],
  MODULATOR_LEFT_OUT: [
    4552,
    "A modulator does not run for a process' producers: its consumers miss what they raise.",
  ],
  TOKEN_INVALID: [4553, "The gateway does not take the token, or wants one."],
  RIGHT_MISSING: [4554, "The token does not have the right that this takes."],
  KICKED: [4555, "An operator ended the connections of this subject."],
  ORIGIN_REFUSED: [4556, "The gateway does not let pages of this origin connect."],
  INTERNAL: [4599, "Something failed that should not; the message says what."],
} as const satisfies Record<string, readonly [number, string]>;

/** One of the codes in `ERRORS`. */
export type ErrorCode = keyof typeof ERRORS;

const CODES = new Map<number, ErrorCode>(
  Object.entries(ERRORS).map(([code, [number]]) => [number, code as ErrorCode]),
);

/** The code behind a number; numbers that this version does not know read as `INTERNAL`. */
export function errorCode(number: number): ErrorCode {
  return CODES.get(number) ?? "INTERNAL";
}

/** Whether the caller may try the same thing again, by the range that the number lies in. */
export function mayRetry(number: number): boolean {
  return number < 4500;
}

/** Every error that JEcho raises or hands on. The message names the cause; `code` is what programs look at. */
export class JechoError extends Error {
  override readonly name = "JechoError";
  /** The code that programs compare. */
  readonly code: ErrorCode;
  /** The code as it crosses the wire, and closes a connection: 4000 to 4999. */
  readonly number: number;
  /** Whether the same thing may be tried again. */
  readonly retry: boolean;

  /** @param detail what happened in this case; by default the table's sentence. At most 2,000 characters are kept. */
  constructor(code: ErrorCode, detail?: string, options?: ErrorOptions) {
    super((detail ?? ERRORS[code][1]).slice(0, 2000), options);
    this.code = code;
    this.number = ERRORS[code][0];
    this.retry = mayRetry(this.number);
  }

  /** Whatever was thrown, as an error with a code; never runs code of the thrown value. */
  static from(thrown: unknown, code: ErrorCode = "INTERNAL"): JechoError {
    if (thrown instanceof JechoError) return thrown;
    if (thrown instanceof Error) return new JechoError(code, String(thrown.message), { cause: thrown });
    return new JechoError(
      code,
      typeof thrown === "string" ? thrown : `a value of type ${typeof thrown} was thrown`,
    );
  }
}
