/**
 * What a module of the world remembers of the modulator: in a sandbox of the only one there is; where there is no wall, one world
 * serves many, each with a memory of its own that is there while it is called. Every variable of such a module is part of it.
 */
export interface Memory<M extends object> {
  /** That of a modulator to come. */
  readonly blank: () => M;
  /** As it is now. */
  readonly leave: () => M;
  readonly enter: (memory: M) => void;
}
