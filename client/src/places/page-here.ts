/** Concentrators in a page's own thread. */
import { createEnvironment, loadHostSource } from "@jecho/modulators/browser";
import { Hubs } from "./hubs.ts";
import { loadProduction } from "./late-program.ts";
import type { OpenHere } from "./place.ts";

const ways = { loadSource: loadHostSource };
const hubs = new Hubs({
  loadProduction,
  createEnvironment: (options, events) => createEnvironment(options, events, ways),
});

/** A port to a concentrator in this very thread. */
export const openHere: OpenHere = (options, listener) => hubs.of(options).attach(listener);
