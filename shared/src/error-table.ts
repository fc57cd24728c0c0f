import { type ErrorCode, NUMBERS } from "./errors.ts";

/* Apart from the codes' numbers: a page, whose errors come with a text of their own, need not load it. */

/** What each code means. */
const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  GATEWAY_STOPPING: "The gateway is going down in an orderly way; connect again.",
  HEARTBEAT_MISSED: "The other side was silent for longer than the heartbeat allows.",
  SLOW_CONSUMER: "The consumer did not read fast enough and was cut off to bound the gateway's memory.",
  CONNECTION_LOST: "The connection broke before the answer came.",
  TIMED_OUT: "No answer came within the time allowed.",
  PRODUCER_GONE: "A producer left before it could answer.",
  MODULATOR_HOST_FAILED: "The modulator host ended unexpectedly; it is being replaced.",
  OVERLOADED: "A limit of this gateway is reached; try again later.",
  QUEUE_FULL: "The queue of outgoing events is full; the event was not taken.",
  DERIVED_UNKNOWN: "Nobody derives a channel of this name at present.",
  MODULATOR_RESTARTED: "The modulator began anew, without the state that it had.",
  HISTORY_IN_USE: "Another gateway keeps its history in this file.",
  TOKEN_EXPIRED: "The connection's token is too old; connect again with a newer one.",
  MODULATOR_SUSPENDED:
    "The modulator, or another one of its subject, has ended hosts of modulators or timed out again and again; it is refused for a while.",
  RIGHTS_CHANGED: "The connection's new token lacks rights that the former one had; connect again.",
  MESSAGE_DAMAGED: "A message was changed on the way: its checksum is wrong; connect again.",
  CHANNEL_MOVED: "Another gateway of the cluster is the channel's home by now; connect again.",
  FRAME_MALFORMED: "A frame does not follow the wire format.",
  FRAME_TOO_LARGE: "A frame is larger than the gateway accepts.",
  FRAME_UNEXPECTED: "A frame is well-formed but not allowed from this side or at this moment.",
  PROTOCOL_UNSUPPORTED: "The two sides do not speak a common version of the protocol.",
  CHANNEL_NAME_INVALID:
    "A channel name does not have the form jecho://HOST:PORT/NAME or jecho://IDENTITY/NAME.",
  CHANNEL_ELSEWHERE: "The channel is at another gateway than the connected one.",
  ENDPOINT_UNKNOWN: "The endpoint that a frame speaks of does not exist on this connection.",
  DERIVED_TAKEN: "Another modulator derives a channel of this name.",
  TYPE_INVALID: "A type's schema cannot be used.",
  TYPE_MISMATCH: "The types of the two sides cannot be matched.",
  TYPE_UNKNOWN: "No type is registered under this token.",
  EVENT_INVALID: "An event does not fit the type of its channel.",
  TYPE_UNREAD: "None of a channel's consumers can read the type of a producer's events.",
  MODULATOR_INVALID: "The modulator's source is not a module with a default class, or does not compile.",
  MODULATOR_FAILED: "The modulator threw an error.",
  MODULATOR_TIMED_OUT: "The modulator used more time than a call may take.",
  MODULATOR_OUT_OF_MEMORY: "The modulator used more memory than it may.",
  MODULATOR_OUTPUT_EXCEEDED: "The modulator made more output than it may.",
  MODULATOR_TOO_LARGE: "The modulator's source or parameters are larger than the limit.",
  MODULATOR_QUOTA_EXCEEDED: "One connection has more modulators installed than it may.",
  MODULATORS_NOT_SERVED: "A producer of this channel runs no modulators.",
  SERVICE_MISSING: "A service that the modulator needs is not offered.",
  PARAMETERS_INVALID:
    "The parameters are not plain data, or the modulator refused them or the state of a shared object.",
  OBJECT_INVALID: "A shared object's state is not plain data within the size limit.",
  DEMODULATOR_FAILED: "The demodulator threw an error.",
  HANDLER_FAILED: "A consumer's handler failed on the event.",
  ACK_UNEXPECTED: "An acknowledgement is of an event that was not sent, or was acknowledged before.",
  SERVICE_NOT_GRANTED: "A service that the modulator needs takes a capability that its consumer has not.",
  DELEGATE_FAILED: "A producer's delegate failed at what a modulator asked of it.",
  HISTORY_EXCEEDED: "The place asked for lies beyond the channel's newest event.",
  HANDOVER_INVALID: "The handover token is unknown, used or too old.",
  HANDED_OVER: "The session was handed over to another device.",
  OBJECT_UNKNOWN: "No shared object has this id.",
  CLOSED: "The session or endpoint is closed.",
  ARGUMENT_INVALID: "An argument is not of the form that the call takes.",
  MODULATOR_LEFT_OUT:
    "A modulator does not run for a process' producers: its consumers miss what they raise.",
  TOKEN_INVALID: "The gateway does not take the token, or wants one.",
  RIGHT_MISSING: "The token does not have the right that this takes.",
  KICKED: "An operator ended the connections of this subject.",
  ORIGIN_REFUSED: "The gateway does not let pages of this origin connect.",
  INTERNAL: "Something failed that should not; the message says what.",
};

/** The one table of everything that can go wrong between the parts of JEcho: by code its number, and a sentence. */
export const ERRORS = /* @__PURE__ */ tableOf(NUMBERS);

function tableOf<N extends Record<ErrorCode, number>>(
  numbers: N,
): { readonly [Code in keyof N & ErrorCode]: readonly [number: N[Code], meaning: string] } {
  const rows = Object.entries(numbers).map(([code, number]) => [code, [number, MEANINGS[code as ErrorCode]]]);
  return Object.fromEntries(rows);
}
