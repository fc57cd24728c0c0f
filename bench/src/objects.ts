import { type } from "@jecho/client";

/** The objects of JECho's Table 1, as today's programs would write them, and their types. */
export const OBJECT_NAMES = ["null", "int100", "byte400", "vector20", "composite"] as const;
export type ObjectName = (typeof OBJECT_NAMES)[number];

export const TYPES = {
  // A table needs a field; one that is left out takes no room.
  null: type("Null", { nothing: "string" }),
  int100: type("Int100", { values: "int32[]" }),
  byte400: type("Byte400", { bytes: "uint8[]" }),
  // Java's Vector of Integers: every number an object of its own.
  vector20: type("Vector20", { elements: [{ value: "int32" }] }),
  // A string, two arrays of primitives, and a hash table with two entries.
  composite: type("Composite", {
    name: "string",
    counts: "int32[]",
    levels: "float64[]",
    table: [{ key: "string", value: "string" }],
  }),
} as const;

const OBJECTS = {
  null: {},
  int100: { values: Int32Array.from({ length: 100 }, (_, i) => i * 7919) },
  byte400: { bytes: Uint8Array.from({ length: 400 }, (_, i) => i) },
  vector20: { elements: Array.from({ length: 20 }, (_, i) => ({ value: i * 104_729 })) },
  composite: {
    name: "ozone at the tropopause",
    counts: Int32Array.from({ length: 25 }, (_, i) => i * 7919),
    levels: Float64Array.from({ length: 25 }, (_, i) => Math.sqrt(i)),
    table: [
      { key: "units", value: "mol mol-1" },
      { key: "grid", value: "T42, 37 layers" },
    ],
  },
} as const;

/** The object for JEcho's encoder, which takes typed arrays. */
export function objectOf(name: ObjectName): never {
  return OBJECTS[name] as never;
}

/** The same with plain arrays, for what knows no typed ones. */
export function plainObjectOf(name: ObjectName): unknown {
  return plain(OBJECTS[name]);
}

function plain(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

/** For protobufjs and gRPC. */
export const PROTO = `syntax = "proto3";
package bench;
message Null {}
message Int100 { repeated sint32 values = 1; }
message Byte400 { bytes bytes = 1; }
message Boxed { int32 value = 1; }
message Vector20 { repeated Boxed elements = 1; }
message Entry { string key = 1; string value = 2; }
message Composite { string name = 1; repeated sint32 counts = 2; repeated double levels = 3; repeated Entry table = 4; }
service Sink {
  rpc null (Null) returns (Null);
  rpc int100 (Int100) returns (Null);
  rpc byte400 (Byte400) returns (Null);
  rpc vector20 (Vector20) returns (Null);
  rpc composite (Composite) returns (Null);
}
`;

export const MESSAGES: Readonly<Record<ObjectName, string>> = {
  null: "Null",
  int100: "Int100",
  byte400: "Byte400",
  vector20: "Vector20",
  composite: "Composite",
};

/** For protobufjs and MessagePack: plain arrays, but bytes as bytes. */
export function protoObjectOf(name: ObjectName): object {
  return (name === "byte400" ? { bytes: Buffer.from(OBJECTS.byte400.bytes) } : plainObjectOf(name)) as object;
}
