import type { RunChunk } from "../../sandbox/sandbox.ts";
import type { CodeGlobal } from "./code.ts";
import { StoppedProgram } from "./stopped-program.ts";
import { WindowHeap } from "./window-heap.ts";
import { WINDOW } from "./window-layout.ts";

const PAGE = 65_536;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Some events of a chunk that lie in the window: those from `first` on, up to but without `end`. */
export interface WindowPart {
  readonly first: number;
  readonly end: number;
}

/** A text of a modulator's, and its address. */
export interface WindowText {
  readonly at: number;
  readonly bytes: Uint8Array;
}

/**
 * The memory that compiled modulators read events in: one for all of them, for each memory of WebAssembly takes gigabytes of addresses. Events are
 * copied there once for all modulators of their channel. No program writes to it but its answers and what it makes, which are read at once.
 */
export class EventWindow {
  readonly memory = new WebAssembly.Memory({ initial: Math.ceil(WINDOW.heap / PAGE) });
  /** Room for what modulators keep. */
  readonly heap = new WindowHeap(this.memory, WINDOW.heap, () => this.#look());
  #bytes = new Uint8Array(this.memory.buffer);
  #words = new Uint32Array(this.memory.buffer);
  #doubles = new Float64Array(this.memory.buffer);
  #numbers = numbersOf(this.memory);
  /** The chunk whose events lie there. */
  #chunk: RunChunk | undefined;
  #part: WindowPart = { first: 0, end: 0 };
  /** Address of these events: an event that is larger than others comes alone, in a block of `#largeBytes` bytes. */
  #at: number = WINDOW.events;
  #largeBytes = 0;
  /** The events that the table lists; undefined for all that lie there. */
  #picks: readonly number[] | undefined;
  #ofRun = 0;
  #texts: readonly WindowText[] = [];
  #data: readonly number[] = [];

  /** Numbers of the events that are made for those that lie there. */
  get numbers(): Float64Array {
    return this.#numbers;
  }

  /** Answers to the events that lie there, in their order. */
  get answers(): Uint8Array {
    return this.#bytes;
  }

  /** Copies events of a chunk from `first` on, as many as there is room for, and lists them for the programs. */
  show(chunk: RunChunk, first: number): WindowPart {
    if (this.#chunk !== chunk || this.#part.first !== first) this.#copy(chunk, first);
    else if (this.#picks !== undefined) this.#list(chunk, undefined);
    return this.#part;
  }

  /** Lists these events of those that `show` has shown alone. */
  pick(chunk: RunChunk, picks: readonly number[]): void {
    this.#list(chunk, picks);
  }

  #copy(chunk: RunChunk, first: number): void {
    const { bytes, bounds } = chunk;
    const from = bounds[2 * first] as number;
    let end = first + 1;
    const most = Math.min(chunk.end, first + WINDOW.mostEvents);
    while (end < most && (bounds[2 * end + 1] as number) - from <= WINDOW.eventBytes) end++;
    const stop = bounds[2 * end - 1] as number;
    this.#makeRoom(stop - from);
    this.#bytes.set(bytes.subarray(from, stop), this.#at);
    this.#chunk = chunk;
    this.#part = { first, end };
    this.#list(chunk, undefined);
  }

  #list({ bounds }: RunChunk, picks: readonly number[] | undefined): void {
    const { first, end } = this.#part;
    const shift = this.#at - (bounds[2 * first] as number);
    const words = this.#words;
    this.#picks = picks;
    let at = WINDOW.table / 4;
    if (picks === undefined) {
      for (let i = 2 * first; i < 2 * end; i++) words[at++] = (bounds[i] as number) + shift;
      return;
    }
    for (const event of picks) {
      words[at++] = (bounds[2 * event] as number) + shift;
      words[at++] = (bounds[2 * event + 1] as number) + shift;
    }
  }

  /** Writes how many steps an event, and all of a run, may take. */
  showFuel(steps: number, ofRun: number): void {
    this.#doubles[WINDOW.fuel / 8] = steps;
    this.#doubles[WINDOW.runFuel / 8] = ofRun;
    this.#ofRun = ofRun;
  }

  /** Steps of the run that programs have counted down since. */
  get usedFuel(): number {
    return this.#ofRun - (this.#doubles[WINDOW.runFuel / 8] as number);
  }

  /** The text whose bytes lie here: broken ones read as they do everywhere. */
  textAt(at: number, bytes: number): string {
    return utf8.decode(this.#bytes.subarray(at, at + bytes));
  }

  /** Writes the time of the turn. */
  showClock(ms: number): void {
    this.#doubles[WINDOW.clock / 8] = ms;
  }

  /** Copies a modulator's texts. The same list stands for the same texts. */
  showTexts(texts: readonly WindowText[]): void {
    if (texts.length === 0 || texts === this.#texts) return;
    for (const { at, bytes } of texts) this.#bytes.set(bytes, at);
    this.#texts = texts;
  }

  /** Writes the numbers that a modulator reads of its data, to the places of these. The same list stands for the same numbers. */
  showData(places: readonly CodeGlobal[], data: readonly number[]): void {
    if (data.length === 0 || data === this.#data) return;
    for (let i = 0; i < data.length; i++) {
      const value = data[i] as number;
      if (places[i]?.type === "f64") this.#doubles[WINDOW.data / 8 + i] = value;
      else this.#words[WINDOW.data / 4 + 2 * i] = value;
    }
    this.#data = data;
  }

  #makeRoom(bytes: number): void {
    if (this.#largeBytes > 0) this.heap.give(this.#at, this.#largeBytes);
    this.#largeBytes = 0;
    this.#at = WINDOW.events;
    if (bytes <= WINDOW.eventBytes) return;
    const block = this.heap.take(bytes);
    if (block === undefined) throw new StoppedProgram("there is no room for so large an event");
    this.#at = block;
    this.#largeBytes = bytes;
  }

  /** The memory has grown: its bytes are in another buffer. */
  #look(): void {
    this.#bytes = new Uint8Array(this.memory.buffer);
    this.#words = new Uint32Array(this.memory.buffer);
    this.#doubles = new Float64Array(this.memory.buffer);
    this.#numbers = numbersOf(this.memory);
  }
}

function numbersOf({ buffer }: WebAssembly.Memory): Float64Array {
  return new Float64Array(buffer, WINDOW.made, WINDOW.madeBytes / 8);
}
