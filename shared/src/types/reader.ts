import { type AccessorClass, PLACES } from "../generated/accessor-classes.ts";
import { type ByteSource, type FieldGetter, markAccessor, sourceOf } from "./accessor.ts";
import { fieldGetter, type MakeAccessor } from "./getters.ts";
import { type Match, matchFields } from "./matching.ts";
import type { ObjectType } from "./schema.ts";

/*
 * Accessors read fields in place. They are made once for a pair: the layout that the writer used and the names that
 * the reader knows. A field is matched by its name; one that the writer lacks reads as its default, integers and floats
 * may be wider at the reader. With the writer's own type as the reader's there is nothing to match.
 */

/** Reads the event whose bytes begin at `start`; what it points at has been verified. */
export type ReadEvent = (view: DataView, bytes: Uint8Array, start: number) => object;

/** Makes the accessor of a table of the writer's type that lies at `position`. */
export type MakeEvent = (source: ByteSource, position: number) => object;

/**
 * Makes the function that makes accessors of the writer's type with the reader's names.
 *
 * @throws JechoError `TYPE_MISMATCH` naming the field and both types where a field's kinds cannot be matched
 */
export function createMaker(writer: ObjectType, reader: ObjectType = writer): MakeEvent {
  return new AccessorMaker().of(writer, reader).make;
}

/**
 * Makes the function that reads events of the writer's type through the reader's names.
 *
 * @throws JechoError `TYPE_MISMATCH` naming the field and both types where a field's kinds cannot be matched
 */
export function createReader(writer: ObjectType, reader: ObjectType = writer): ReadEvent {
  return readerOf(createMaker(writer, reader));
}

/** Reads events with what makes their accessors. */
export function readerOf(make: MakeEvent): ReadEvent {
  // Events lie together in one frame, and what they have in common is made once.
  let source = sourceOf(new DataView(new ArrayBuffer(0)), new Uint8Array(0));
  return (view, bytes, start) => {
    if (source.view !== view || source.bytes !== bytes) source = sourceOf(view, bytes);
    return make(source, start + view.getUint32(start, true));
  };
}

/** Makes a class for each pair of a writer's and a reader's table, once: types may contain themselves. */
class AccessorMaker {
  readonly #made = new Map<ObjectType, Map<ObjectType, MakeAccessor>>();

  of(writer: ObjectType, reader: ObjectType): MakeAccessor {
    let made = this.#made.get(writer);
    if (made === undefined) {
      made = new Map();
      this.#made.set(writer, made);
    }
    let maker = made.get(reader);
    if (maker === undefined) {
      const { make, prototype } = newClass();
      maker = { make };
      made.set(reader, maker);
      for (const match of matchFields(writer, reader)) {
        const get = this.#getter(writer, match);
        Object.defineProperty(prototype, match.field.name, { get, enumerable: true, configurable: true });
      }
    }
    return maker;
  }

  #getter(writer: ObjectType, match: Match): FieldGetter {
    return fieldGetter(match, writer.isStruct, (from, to) => this.of(from, to));
  }
}

/** Index of the place that the next class comes from. */
let next = 0;

/** An accessor of each class, for as long as there is the class. */
const kept = Symbol("kept");
const nowhere = sourceOf(new DataView(new ArrayBuffer(0)), new Uint8Array(0));

function newClass(): AccessorClass {
  const place = PLACES[next++ % PLACES.length] as () => AccessorClass;
  const made = place();
  markAccessor(made.prototype);
  // Engines forget the shape of accessors when garbage is collected while there is none of them, and all that they have compiled for it.
  Object.defineProperty(made.prototype, kept, { value: made.make(nowhere, 0) });
  return made;
}
