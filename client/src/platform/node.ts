import { readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { ModulatorEnvironment } from "@jecho/modulators/node";
import { type CreateEnvironment, fetchText, type Socket } from "./face.ts";
import { NodeSocket } from "./node-socket.ts";

export function openSocket(url: string, protocols: readonly string[]): Socket {
  return new NodeSocket(url, protocols);
}

/** A program's socket says by itself why it could not connect, and no gateway refuses a program for its origin. */
export function refusalAt(_url: string): Promise<string | undefined> {
  return Promise.resolve(undefined);
}

export const createEnvironment: CreateEnvironment = (options, events) =>
  new ModulatorEnvironment(options, events);

export const loadsOverNetwork = false;

/** Reads text; of TypeScript what Node runs of it, each character at its place. */
export async function readText(url: URL): Promise<string> {
  if (url.protocol !== "file:") return fetchText(url);
  const text = await readFile(url, "utf8");
  return url.pathname.endsWith(".ts") ? withoutTypes(text) : text;
}

/** @throws Error with the place in the text that it stumbles over */
function withoutTypes(text: string): string {
  try {
    return stripTypeScriptTypes(text);
  } catch (error) {
    const { message, stack = "" } = error as Error;
    // Node says it before the trace only: the line's number, and the line with marks below it.
    const [, line, before] = /^[^\n]*:(\d+)\n(?:[^\n]*\n)*?( *)\^/.exec(stack) ?? [];
    if (line === undefined || before === undefined) throw error;
    throw new SyntaxError(`${message} (line ${line}, column ${before.length + 1} of its source)`, {
      cause: error,
    });
  }
}

/** A server's network changes are seen by its sockets. */
export function onNetworkChange(_changed: () => void): () => void {
  return () => {};
}

/** Calls back when what has come in meanwhile has been seen to. */
export function laterTurn(act: () => void): void {
  setImmediate(act);
}
