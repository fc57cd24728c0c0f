import { type ErrorCode, NUMBERS } from "./errors.ts";

/* Apart from the codes' numbers: a page, whose errors come with a text of their own, need not load it. */

/** For each code what it means, its usual cause, and the remedy (in Markdown): `npm run docs` makes the errors' page of them. */
const MEANINGS: Readonly<Record<ErrorCode, readonly [meaning: string, cause: string, remedy: string]>> = {
  GATEWAY_STOPPING: [
    "The gateway is going down in an orderly way; connect again.",
    "An operator ends the gateway.",
    "Nothing: clients come back to the next one at that address, and producers keep their events.",
  ],
  HEARTBEAT_MISSED: [
    "The other side was silent for longer than the heartbeat allows.",
    "The network is down, a laptop sleeps, or a process is stopped or computes without a pause.",
    "Nothing where it passes. Else let the connection have its own thread (the default), or raise `heartbeatMs`.",
  ],
  SLOW_CONSUMER: [
    "The consumer did not read fast enough and was cut off to bound the gateway's memory.",
    "A handler takes longer than events take to come, its policy is `disconnect`, or it had producers wait for longer than `blockMs`.",
    'Have fewer events sent (a modulator, `rateLimit`), let some go (`queue: { whenFull: "latest" }`), or subscribe anew.',
  ],
  CONNECTION_LOST: [
    "The connection broke before the answer came.",
    "The gateway went, or the network did, while something was asked.",
    "Ask again once the session is `live`; whether it had been done is not known.",
  ],
  TIMED_OUT: [
    "No answer came within the time allowed.",
    "A process hangs or computes, no gateway is at the address, or nobody is there who could answer.",
    "See which process it names. For no gateway: `jecho doctor`.",
  ],
  PRODUCER_GONE: [
    "A producer left before it could answer.",
    "The producer ended or lost its connection while it was being waited for.",
    "Try again: with the producer back it works.",
  ],
  MODULATOR_HOST_FAILED: [
    "The modulator host ended unexpectedly; it is being replaced.",
    "A modulator used up memory or blocked the host, or the machine is short of memory.",
    "Nothing: it is replaced, and modulators begin anew. If it repeats, find the modulator by `jecho top`.",
  ],
  OVERLOADED: [
    "A limit of this gateway is reached; try again later.",
    "A limit of the gateway, which the message names, is reached.",
    "Ask for less, wait, or have the operator raise the limit (`--limit NAME=NUMBER`).",
  ],
  QUEUE_FULL: [
    "The queue of outgoing events is full; the event was not taken.",
    "A producer raises events faster than they can be sent.",
    '`if (!producer.isReady) await producer.ready()` before each, or `queue: { whenFull: "drop-oldest" }`.',
  ],
  DERIVED_UNKNOWN: [
    "Nobody derives a channel of this name at present.",
    "Nobody has subscribed with `as: NAME` on the channel, or has left.",
    "Wait: the consumer is opened once somebody does. Look at the name: `jecho ls` shows those that there are.",
  ],
  MODULATOR_RESTARTED: [
    "The modulator began anew, without the state that it had.",
    "Its host or the process that ran it was replaced.",
    "Nothing for most. A modulator with state in its fields begins with none: `consumer.onRestart` tells when.",
  ],
  HISTORY_IN_USE: [
    "Another gateway keeps its history in this file.",
    "A gateway still runs with this file.",
    "End that one first, or give each a file of its own.",
  ],
  TOKEN_EXPIRED: [
    "The connection's token is too old; connect again with a newer one.",
    "The token's `exp` has passed and no newer one came.",
    "Give `connect` a function that gives a new token; look at both clocks (`jecho doctor`).",
  ],
  MODULATOR_SUSPENDED: [
    "The modulator, or another one of its subject, has ended hosts of modulators or timed out again and again; it is refused for a while.",
    "The same text, or others of the subject, ended modulators' hosts before, or timed out three times (others of the subject: eight).",
    "Find what it does without end or bound; it may be tried again after the time that the message says.",
  ],
  RIGHTS_CHANGED: [
    "The connection's new token lacks rights that the former one had; connect again.",
    "The issuer gives the subject fewer rights than before.",
    "Nothing: the session comes back with the rights that it has now.",
  ],
  MESSAGE_DAMAGED: [
    "A message was changed on the way: its checksum is wrong; connect again.",
    "A bit flipped on the way.",
    "Nothing: it is sent again. If it repeats, look at the network's hardware.",
  ],
  CHANNEL_MOVED: [
    "Another gateway of the cluster is the channel's home by now; connect again.",
    "A gateway of the cluster came, or went, or cannot reach the others.",
    "Nothing: clients connect again and go on.",
  ],
  FRAME_MALFORMED: [
    "A frame does not follow the wire format.",
    "The other side is no client of JEcho's, or the bytes were changed on the way.",
    "Use a client of the same protocol; `--checksums` or TLS where the way flips bits.",
  ],
  FRAME_TOO_LARGE: [
    "A frame is larger than the gateway accepts.",
    "One event is larger than the gateway's `limitBytes`, or one request, as a modulator with its parameters, than 4 MiB; or a run has more than 4,096 events.",
    "Send it in parts, or have the operator raise `limitBytes`.",
  ],
  FRAME_UNEXPECTED: [
    "A frame is well-formed but not allowed from this side or at this moment.",
    "A client that is not of JEcho's libraries says what it may not say then.",
    "See the message and SPEC.md. With our own client it is a bug: please report it.",
  ],
  PROTOCOL_UNSUPPORTED: [
    "The two sides do not speak a common version of the protocol.",
    "Client and gateway are of versions too far apart.",
    "Install the same version of all packages.",
  ],
  CHANNEL_NAME_INVALID: [
    "A channel name does not have the form jecho://HOST:PORT/NAME, jecho://IDENTITY/NAME or jecho://IDENTITY/NAME?at=ADDRESS.",
    "A name has an empty part, a space, or another sign that it may not have.",
    "1 to 8 segments of letters, digits and `._~-`, each beginning with a letter or digit: `weather/readings`.",
  ],
  CHANNEL_ELSEWHERE: [
    "Nobody knows where the gateway is that the channel's name says.",
    "The name has the identity of another gateway than the session's and no address, or another gateway is at that address.",
    "Take the name from `channel.url`, which has an address, or list the gateway in `neighbours`.",
  ],
  ENDPOINT_UNKNOWN: [
    "The endpoint that a frame speaks of does not exist on this connection.",
    "A copy or endpoint is spoken of that this connection has closed or never had.",
    "With our own client it is a bug: please report it.",
  ],
  DERIVED_TAKEN: [
    "Another modulator derives a channel of this name.",
    "Somebody has given this name to another modulator's output.",
    "Choose another `as`.",
  ],
  TYPE_INVALID: [
    "A type's schema cannot be used.",
    "A schema is damaged, larger than `schemaBytes`, or uses what is not supported.",
    "See the message, which names the field.",
  ],
  TYPE_MISMATCH: [
    "The types of the two sides cannot be matched.",
    "A field has another kind on the other side, or one side is typed and the other is not.",
    "Compare with `jecho types CHANNEL`; a type may gain fields, and must not change them.",
  ],
  TYPE_UNKNOWN: [
    "No type is registered under this token.",
    "Nobody writes that type any more.",
    "Ask again once its producer is back.",
  ],
  EVENT_INVALID: [
    "An event does not fit the type of its channel.",
    "A value does not fit its field, a required field is missing, or the text is no JSON.",
    "See the message, which names the field.",
  ],
  TYPE_UNREAD: [
    "None of a channel's consumers can read the type of a producer's events.",
    "A producer writes a type that no present consumer can read.",
    "Give consumers and producer one type: `jecho types CHANNEL`.",
  ],
  MODULATOR_INVALID: [
    "The modulator's source is not a module with a default class, or does not compile.",
    "The text does not compile, imports something, uses what lies around it, or the file cannot be read.",
    "See the message, which says line and column. What it needs goes into `parameters` and `objects`.",
  ],
  MODULATOR_FAILED: [
    "The modulator threw an error.",
    "The modulator threw: often a field that an event does not have.",
    "See the message; `log` writes from inside. Try it on recorded events by `@jecho/modulators`.",
  ],
  MODULATOR_TIMED_OUT: [
    "The modulator used more time than a call may take.",
    "A call took longer than `callMs`, or the modulator more than its share of time.",
    "Do less for each event; a producer may allow more (`modulators: { limits }`).",
  ],
  MODULATOR_OUT_OF_MEMORY: [
    "The modulator used more memory than it may.",
    "It keeps more than it may.",
    "Keep less, or have the producer allow more (`modulators: { limits }`).",
  ],
  MODULATOR_OUTPUT_EXCEEDED: [
    "The modulator made more output than it may.",
    "It makes many or large events of one.",
    "Make fewer; a producer may allow more (`modulators: { limits }`).",
  ],
  MODULATOR_TOO_LARGE: [
    "The modulator's source or parameters are larger than the limit.",
    "Source or parameters have more characters than `modulatorLength`.",
    "Put what is large into a channel or a shared object.",
  ],
  MODULATOR_QUOTA_EXCEEDED: [
    "One connection has more modulators installed than it may.",
    "A connection has `modulatorsPerConnection`, or an event would go through more than `modulatorsInARow`.",
    "Close consumers that are not needed, or share one modulator with different parameters in a shared object.",
  ],
  MODULATORS_NOT_SERVED: [
    "A producer of this channel runs no modulators.",
    "The producer runs none (`most: 0`, `allow`), and nobody else does.",
    "`jecho gateway --modulators`, or allow it at the producer; else it runs with the consumer.",
  ],
  SERVICE_MISSING: [
    "A service that the modulator needs is not offered.",
    "No producer offers what the modulator's `needs` names.",
    "Offer it (`produce({ delegate })`), or leave it out of `needs`.",
  ],
  PARAMETERS_INVALID: [
    "The parameters are not plain data, or the modulator refused them or the state of a shared object.",
    "They hold a function, a date or the like, or the modulator refused them.",
    "Plain JSON; see the message for what the modulator wants.",
  ],
  OBJECT_INVALID: [
    "A shared object's state is not plain data within the size limit.",
    "A state is no JSON object, or has more than 65,536 characters.",
    "Smaller, plain data.",
  ],
  DEMODULATOR_FAILED: [
    "The demodulator threw an error.",
    "The demodulator threw.",
    "See the message; the event that it failed on is skipped.",
  ],
  HANDLER_FAILED: [
    "A consumer's handler failed on the event.",
    "A handler threw, or its promise rejected.",
    "See the message, at the consumer; `publishSync` tells its producer how many failed.",
  ],
  ACK_UNEXPECTED: [
    "An acknowledgement is of an event that was not sent, or was acknowledged before.",
    "An acknowledgement came twice.",
    "With our own client it is a bug: please report it.",
  ],
  SERVICE_NOT_GRANTED: [
    "A service that the modulator needs takes a capability that its consumer has not.",
    "The service takes a capability.",
    "Subscribe with it (`capabilities`), which the producer's owner has to have given.",
  ],
  DELEGATE_FAILED: [
    "A producer's delegate failed at what a modulator asked of it.",
    "A view, service or control of the producer threw.",
    "See the message, at the producer.",
  ],
  HISTORY_EXCEEDED: [
    "The place asked for lies beyond the channel's newest event.",
    "`from` names an event that has not come.",
    'Begin with the newest: `from: "last"`.',
  ],
  HANDOVER_INVALID: [
    "The handover token is unknown, used or too old, or there can be none.",
    "The token was used, is older than `handoverMs`, or is another subject's; or the session has endpoints at other gateways.",
    "Make a new one at the first device.",
  ],
  HANDED_OVER: [
    "The session was handed over to another device.",
    "Another device took the session over.",
    "Nothing: go on there.",
  ],
  OBJECT_UNKNOWN: [
    "No shared object has this id.",
    "Nobody shares that object at present, or it is shared at another gateway than the channel's.",
    "Look at the id; whoever shares it has to be connected. For a channel of another gateway: `(await session.at(name)).share(state)`.",
  ],
  CLOSED: ["The session or endpoint is closed.", "It is used after `close()`.", "Open another one."],
  ARGUMENT_INVALID: [
    "An argument is not of the form that the call takes.",
    "An option is misspelt or has a wrong value.",
    "See the message, which names it and what was probably meant.",
  ],
  MODULATOR_LEFT_OUT: [
    "A modulator does not run for a process' producers: its consumers miss what they raise.",
    "It cannot run with this producer; the message says why.",
    "See that reason: a missing service, another type, no answer.",
  ],
  TOKEN_INVALID: [
    "The gateway does not take the token, or wants one.",
    "It is missing, signed with another key, too old, or for another issuer or audience.",
    "`jecho doctor --token FILE`; make one with the gateway's key (`jecho token`).",
  ],
  RIGHT_MISSING: [
    "The token does not have the right that this takes.",
    "The token's `can` does not have the right that the message names.",
    "Have the issuer add it: SECURITY.md lists them.",
  ],
  KICKED: [
    "An operator ended the connections of this subject.",
    "`jecho kick` was used.",
    "Speak with the operator; a newer token is taken.",
  ],
  ORIGIN_REFUSED: [
    "The gateway does not let pages of this origin connect.",
    "The page comes from another origin than the gateway's own.",
    "Start the gateway with `--origin ORIGIN`, for a name of its own `--allow-host NAME`.",
  ],
  HISTORY_NOT_DURABLE: [
    "A history that is to be durable is not, or no more.",
    "The gateway has nowhere to store it; or, of a producer that has it, NATS refused to store more, or took too long.",
    "Give the gateway a file (`--history`), or join gateways by NATS (`--cluster-nats`); look at JetStream's limits and disk.",
  ],
  INTERNAL: [
    "Something failed that should not; the message says what.",
    "A bug of JEcho's, or something that it could not foresee.",
    "Please report it with the message.",
  ],
};

/** The one table of everything that can go wrong between the parts of JEcho: by code its number, what it means, its usual cause, and the remedy. */
export const ERRORS = /* @__PURE__ */ tableOf(NUMBERS);

function tableOf<N extends Record<ErrorCode, number>>(
  numbers: N,
): {
  readonly [Code in keyof N & ErrorCode]: readonly [
    number: N[Code],
    meaning: string,
    cause: string,
    remedy: string,
  ];
} {
  const rows = Object.entries(numbers).map(([code, number]) => [
    code,
    [number, ...MEANINGS[code as ErrorCode]],
  ]);
  return Object.fromEntries(rows);
}
