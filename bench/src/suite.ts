import type { Report } from "./report.ts";

/** What every suite is given. */
export interface Context {
  readonly report: Report;
  /** A short run: fewer rounds, shorter ones. */
  readonly quick: boolean;
}

export interface Suite {
  readonly name: string;
  /** One line for whoever asks what there is. */
  readonly about: string;
  run(context: Context): Promise<void>;
}
