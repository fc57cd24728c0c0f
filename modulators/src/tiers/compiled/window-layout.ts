/** Bytes of each part of the memory that a module is given, in their order. */
const PARTS = {
  /** An answer for each event, a byte. */
  answers: 4096,
  /** The beginning and end of each event. */
  table: 8 * 4096,
  /** Texts of the modulator's parameters and shared objects, and numbers of these, eight bytes for each. */
  texts: 16_384,
  data: 8 * 512,
  /** Numbers for events that a program makes. */
  made: 65_536,
  /** Steps that an event, and all events of a run, may take; the time of the turn. */
  fuel: 8,
  runFuel: 8,
  clock: 8,
  /** Lists that a program makes. */
  room: 262_144,
  /** Events, of up to so many bytes at once. */
  events: 262_144,
} as const;
type PartName = keyof typeof PARTS;

/** Layout of that memory: where each part begins. Behind the last one lie blocks for what modulators keep, and for larger events. */
export const WINDOW = {
  ...placesOf(),
  mostEvents: PARTS.answers,
  textBytes: PARTS.texts,
  mostData: PARTS.data / 8,
  madeBytes: PARTS.made,
  roomBytes: PARTS.room,
  eventBytes: PARTS.events,
  heap: Object.values(PARTS).reduce((sum, bytes) => sum + bytes, 0),
} as const;

/** Answers for one event. From `made` on: an event is made in its place, by the plan of the number that is so much less. */
export const ANSWER = { discard: 0, pass: 1, urgent: 2, broken: 3, made: 4 } as const;
/** Most plans of one program: an answer is a byte. */
export const MOST_PLANS = 250;

function placesOf(): Readonly<Record<PartName, number>> {
  let at = 0;
  const places = Object.entries(PARTS).map(([name, bytes]) => {
    const place = at;
    at += bytes;
    return [name, place] as const;
  });
  return Object.fromEntries(places) as Record<PartName, number>;
}
