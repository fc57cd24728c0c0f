import { connect, JechoError, type Session } from "@jecho/client";

const PATIENCE_MS = 10_000;

/**
 * Does something in a session with the gateway that a channel's full name says, or the option, or the one on this machine.
 * Where nobody answers at once, that is noted.
 *
 * @throws JechoError `TIMED_OUT` where nobody answers there, `CHANNEL_ELSEWHERE` where name and option differ
 */
export async function meet(
  channel: string,
  gateway: string | undefined,
  note: (line: string) => void,
  signal: AbortSignal,
  act: (session: Session) => Promise<void>,
): Promise<void> {
  const named = /^jecho:\/\/([^/]+)\//.exec(channel)?.[1];
  const address = gateway ?? named ?? "localhost:8080";
  const session = connect(address, { name: "jecho", place: "here" });
  const stop = session.onStatus(({ error }) => {
    if (error === undefined) return;
    stop();
    note(`# ${error.message}; trying for ${PATIENCE_MS / 1000} s`);
  });
  try {
    // A wrong name is wrong whoever answers.
    session.channel(channel);
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
