// Encoding and decoding, in a process that does nothing else.

import { deserialize, serialize } from "node:v8";
import { encodeEvent, type, typeFromSchema } from "@jecho/client";
import { encodeInto, measure } from "@jecho/shared/internal";
import { Packr } from "msgpackr";
import protobuf from "protobufjs";
import {
  MESSAGES,
  type ObjectName,
  objectOf,
  PROTO,
  plainObjectOf,
  protoObjectOf,
  TYPES,
} from "../objects.ts";
import { interleave } from "../timing.ts";
import type { touchFields } from "../touch.ts";
import { serve } from "../worker.ts";

interface Options {
  readonly rounds: number;
  readonly ms: number;
}

const LARGE_BYTES = 100 * 1024;
const FLOATS = LARGE_BYTES / 4;

const Field = type("Field", {
  step: "uint32",
  time: "float64",
  layer: "int32",
  values: "float32[]",
});
/** Type of a producer that has grown: other slots, wider numbers, more fields. */
const GrownField = type("Field", {
  model: "string",
  time: "float64",
  values: "float32[]",
  quality: "uint8[]",
  step: "uint32",
  run: "uint32",
  layer: "int16",
});

interface FieldEvent {
  readonly step: number;
  readonly time: number;
  readonly layer: number;
  readonly values: Float32Array;
}

function large(options: Options): Record<string, number[]> {
  const values = Float32Array.from({ length: FLOATS }, Math.random);
  const event = { step: 1, time: 2, layer: 3, values };
  const grown = { ...event, model: "ozone", run: 4, quality: new Uint8Array(0) };
  const room = new Uint8Array(2 * LARGE_BYTES);
  const view = new DataView(room.buffer);
  const source = new Uint8Array(values.buffer);
  const target = new Uint8Array(2 * LARGE_BYTES);
  const readerOf = (written: { schema: Uint8Array }, bytes: Uint8Array, elements: boolean) => {
    // As at a consumer: the writer's type came over the wire.
    const from = typeFromSchema(written.schema);
    const verify = Field.verifierOf(from);
    const read = Field.readerOf(from);
    const bytesView = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return () => {
      verify(bytesView, 0, bytes.byteLength);
      const { step, time, layer, values } = read(bytesView, bytes, 0) as FieldEvent;
      let total = step + time + layer + values.length;
      if (elements) for (let i = 0; i < values.length; i++) total += values[i] as number;
      return total;
    };
  };
  const same = encodeEvent(Field, event);
  const superset = encodeEvent(GrownField, grown);
  return interleave(
    {
      memcpy: () => target.set(source, 8),
      encode: () => {
        // Both of what `publish` does: how much room it takes, and the event written there.
        measure(Field.root, event);
        return encodeInto(Field.root, event, room, view, 0);
      },
      read_same: readerOf(Field, same, true),
      read_superset: readerOf(GrownField, superset, true),
      read_fields_same: readerOf(Field, same, false),
      read_fields_superset: readerOf(GrownField, superset, false),
    },
    options,
  );
}

const { root } = protobuf.parse(PROTO);
/** msgpackr's own fastest: it learns structures, which both ends then share; typed arrays come back as such. */
const recordPackr = new Packr({ structures: [], moreTypes: true });

/** A reader that has never seen another serialiser's events. */
async function ownTouch(serialiser: string, object: ObjectName): Promise<typeof touchFields> {
  const module = (await import(`../touch.ts?for=${serialiser}-${object}`)) as {
    touchFields: typeof touchFields;
  };
  return module.touchFields;
}

async function object({
  object,
  rounds,
  ms,
}: Options & { object: ObjectName }): Promise<Record<string, number[]>> {
  const own = TYPES[object];
  const event = objectOf(object);
  const plain = plainObjectOf(object);
  const message = root.lookupType(`bench.${MESSAGES[object]}`);
  const proto = message.create(protoObjectOf(object));
  const room = new Uint8Array(16 * 1024);
  const view = new DataView(room.buffer);
  const written = {
    jecho: encodeEvent<object>(own, event),
    json: JSON.stringify(plain),
    msgpack: recordPackr.pack(event),
    protobuf: message.encode(proto).finish(),
    structured_clone: serialize(event),
  };
  const see = {
    jecho: await ownTouch("jecho", object),
    json: await ownTouch("json", object),
    msgpack: await ownTouch("msgpack", object),
    protobuf: await ownTouch("protobuf", object),
    structured_clone: await ownTouch("structured_clone", object),
  };
  return interleave(
    {
      encode_jecho: () => {
        measure(own.root, event);
        return encodeInto(own.root, event, room, view, 0);
      },
      encode_json: () => JSON.stringify(plain),
      encode_msgpack: () => recordPackr.pack(event),
      encode_protobuf: () => message.encode(proto).finish(),
      encode_structured_clone: () => serialize(event),
      decode_jecho: () => see.jecho(own.decode(written.jecho), object),
      decode_json: () => see.json(JSON.parse(written.json), object),
      decode_msgpack: () => see.msgpack(recordPackr.unpack(written.msgpack), object),
      decode_protobuf: () => see.protobuf(message.decode(written.protobuf), object),
      decode_structured_clone: () => see.structured_clone(deserialize(written.structured_clone), object),
    },
    { rounds, ms },
  );
}

serve({ large, object });
