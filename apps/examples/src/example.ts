import type { Session } from "@jecho/client";

/** A sample program. */
export interface Example {
  /** Subject of the program, and the paper that it is from. */
  readonly about: string;
  /**
   * @param producing the session of the simulation
   * @param consuming the session of who watches it, as it would be elsewhere
   * @param print gets each line that the program says
   */
  run(producing: Session, consuming: Session, print: (line: string) => void): Promise<void>;
}
