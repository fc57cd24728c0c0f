import * as library from "@jecho/client";

declare global {
  /** The library in the page, for what tests run there. */
  var jecho: typeof library;
}

globalThis.jecho = library;
