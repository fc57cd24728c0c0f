import { type Type, type } from "@jecho/client";

/** One layer of ozone, or a window of it. Rows run from north to south, columns eastwards. */
export const GridData = type("GridData", {
  /** Steps since the start of the simulation. */
  step: "uint32",
  /** 0 is the lowest. */
  layer: "int32",
  /** Model seconds since the start. */
  time: "float64",
  /** Degrees north of the first row's centre, and from row to row (negative). */
  latFirst: "float32",
  latStep: "float32",
  rows: "uint16",
  /** Degrees east of the first column's centre, and from column to column. */
  lonFirst: "float32",
  lonStep: "float32",
  columns: "uint16",
  /** Volume mixing ratio of ozone in ppmv, row by row. */
  values: "float32[]",
});
export type GridData = typeof GridData extends Type<infer T> ? T : never;

/** How the simulation is doing; published after every step, and once a second while it is paused. */
export const Status = type("Status", {
  step: "uint32",
  time: "float64",
  /** When the step was made: milliseconds since 1970 on the clock of the simulation's machine. */
  madeAt: "float64",
  /** Time of the year from 0 to 12; 0 is mid January. */
  month: "float32",
  /** Steps per second that are asked for. */
  speed: "float32",
  paused: "bool",
  layers: "uint16",
  rows: "uint16",
  columns: "uint16",
  /** Encoded bytes of the whole field of one step. */
  bytesPerStep: "float64",
  /** Consumers of the field, through modulators or not. */
  viewers: "uint32",
  /** Sources that are active, the oldest first. */
  sources: [
    {
      id: "uint32",
      /** Degrees north and east of its middle. */
      latitude: "float32",
      longitude: "float32",
      layer: "int32",
      /** ppmv per day. */
      amount: "float32",
      /** Model seconds at which it ends. */
      endsAt: "float64",
      /** Subject of who added it; "" at a gateway that knows no users. */
      by: "string",
    },
  ],
  /** Effect of the newest steering command, or why it was refused. */
  notice: "string",
  /** Subject of who gave that command; "" at a gateway that knows no users. */
  noticeBy: "string",
  /** Model seconds at which it was given. */
  noticeTime: "float64",
  /** Step that this run of the simulation began with: 0, or that of the checkpoint that it goes on from. */
  firstStep: "uint32",
  /** Subjects who look at the field; empty at a gateway that knows no users. */
  watchers: "string[]",
});
export type Status = typeof Status extends Type<infer T> ? T : never;
/** An active source, as the simulation tells of it. */
export type StatusSource = Status["sources"][number];

/**
 * Requests of viewers to the simulation. Commands: `pause`, `resume`, `speed` (value: steps per second), `month` (value: 0 to
 * 12), `source` (latitude, longitude in degrees, layer, amount in ppmv per day), `remove` (value: the number of a source).
 */
export const Steering = type("Steering", {
  command: "string",
  value: "float64",
  latitude: "float32",
  longitude: "float32",
  layer: "int32",
  amount: "float32",
});
export type Steering = typeof Steering extends Type<infer T> ? T : never;

/** The user's names of the application's channels. */
export const CHANNELS = {
  ozone: "atmosphere/ozone",
  status: "atmosphere/status",
  steering: "atmosphere/steering",
} as const;
