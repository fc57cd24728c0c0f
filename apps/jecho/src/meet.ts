import { readFile } from "node:fs/promises";
import { connect, JechoError, type Session } from "@jecho/client";
import { UsageError } from "./screen.ts";

const PATIENCE_MS = 10_000;

/** With which gateway, and as whom. */
interface Meeting {
  /** Its full name may say which gateway. */
  readonly channel?: string | undefined;
  readonly gateway?: string | undefined;
  /** The file that a token is in. */
  readonly token?: string | undefined;
  readonly note: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Does something in a session with the gateway that the option says, or a channel's full name, or the one on this machine.
 * Where nobody answers at once, that is noted.
 *
 * @throws UsageError where the token cannot be read
 * @throws JechoError `TIMED_OUT` where nobody answers there, `CHANNEL_ELSEWHERE` where nobody says the address of the gateway that the name is of
 */
export async function meet(
  { channel = "", gateway, token, note, signal }: Meeting,
  act: (session: Session) => Promise<void>,
): Promise<void> {
  const [, named = "", at] = /^jecho:\/\/([^/]+)\/[^?#]*(?:\?at=([^#]+))?/.exec(channel) ?? [];
  const address = gateway ?? at ?? (/^[^~]/.test(named) ? named : "localhost:8080");
  // The file is read anew for each connection, and may have been replaced by then.
  if (token !== undefined) await readToken(token);
  const session = connect(address, {
    name: "jecho",
    place: "here",
    ...(token !== undefined && { token: () => readToken(token) }),
  });
  let isNoted = false;
  const stop = session.onStatus(({ state, error }) => {
    if (error === undefined || state === "refused" || isNoted) return;
    isNoted = true;
    note(`# ${error.message}; trying for ${PATIENCE_MS / 1000} s`);
  });
  try {
    // A wrong name is wrong whoever answers.
    if (channel !== "") session.channel(channel);
    await session.ready(AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]));
    stop();
    await act(session);
  } catch (error) {
    if ((error as Error).name !== "TimeoutError") throw error;
    const why = session.status.error;
    throw new JechoError("TIMED_OUT", `no gateway answers at ${address}${why ? `: ${why.message}` : ""}`);
  } finally {
    await session.close();
  }
}

/** @throws UsageError where the file cannot be read */
export async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw new UsageError(`the token cannot be read: ${(error as Error).message}`);
  }
}
