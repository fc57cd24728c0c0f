/**
 * Number of each code of an error between the parts of JEcho; `error-table.ts` says what each means, and what to do.
 *
 * Numbers from 4000 to 4499 say "try again", numbers from 4500 to 4999 say "do not, it will not get better".
 * A number doubles as the WebSocket close code where the error ends the connection. Programs match on `code`
 * or `number`, never on the message.
 */
export const NUMBERS = {
  GATEWAY_STOPPING: 4000,
  HEARTBEAT_MISSED: 4001,
  SLOW_CONSUMER: 4002,
  CONNECTION_LOST: 4003,
  TIMED_OUT: 4004,
  PRODUCER_GONE: 4005,
  MODULATOR_HOST_FAILED: 4006,
  OVERLOADED: 4007,
  QUEUE_FULL: 4008,
  DERIVED_UNKNOWN: 4009,
  MODULATOR_RESTARTED: 4010,
  HISTORY_IN_USE: 4011,
  TOKEN_EXPIRED: 4012,
  MODULATOR_SUSPENDED: 4014,
  RIGHTS_CHANGED: 4013,
  MESSAGE_DAMAGED: 4015,
  CHANNEL_MOVED: 4016,
  FRAME_MALFORMED: 4500,
  FRAME_TOO_LARGE: 4501,
  FRAME_UNEXPECTED: 4502,
  PROTOCOL_UNSUPPORTED: 4503,
  CHANNEL_NAME_INVALID: 4510,
  CHANNEL_ELSEWHERE: 4511,
  ENDPOINT_UNKNOWN: 4512,
  DERIVED_TAKEN: 4513,
  TYPE_INVALID: 4520,
  TYPE_MISMATCH: 4521,
  TYPE_UNKNOWN: 4522,
  EVENT_INVALID: 4523,
  TYPE_UNREAD: 4524,
  MODULATOR_INVALID: 4530,
  MODULATOR_FAILED: 4531,
  MODULATOR_TIMED_OUT: 4532,
  MODULATOR_OUT_OF_MEMORY: 4533,
  MODULATOR_OUTPUT_EXCEEDED: 4534,
  MODULATOR_TOO_LARGE: 4535,
  MODULATOR_QUOTA_EXCEEDED: 4536,
  MODULATORS_NOT_SERVED: 4537,
  SERVICE_MISSING: 4538,
  PARAMETERS_INVALID: 4539,
  OBJECT_INVALID: 4540,
  DEMODULATOR_FAILED: 4541,
  HANDLER_FAILED: 4542,
  ACK_UNEXPECTED: 4543,
  SERVICE_NOT_GRANTED: 4544,
  DELEGATE_FAILED: 4545,
  HISTORY_EXCEEDED: 4546,
  HANDOVER_INVALID: 4547,
  HANDED_OVER: 4548,
  OBJECT_UNKNOWN: 4549,
  CLOSED: 4550,
  ARGUMENT_INVALID: 4551,
  MODULATOR_LEFT_OUT: 4552,
  TOKEN_INVALID: 4553,
  RIGHT_MISSING: 4554,
  KICKED: 4555,
  ORIGIN_REFUSED: 4556,
  HISTORY_NOT_DURABLE: 4557,
  INTERNAL: 4599,
} as const satisfies Record<string, number>;

/** One of the codes in `ERRORS`. */
export type ErrorCode = keyof typeof NUMBERS;

const CODES = new Map<number, ErrorCode>(
  Object.entries(NUMBERS).map(([code, number]) => [number, code as ErrorCode]),
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

  /** @param detail what happened in this case; by default the code. At most 2,000 characters are kept. */
  constructor(code: ErrorCode, detail: string = code, options?: ErrorOptions) {
    super(detail.slice(0, 2000), options);
    this.code = code;
    this.number = NUMBERS[code];
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
