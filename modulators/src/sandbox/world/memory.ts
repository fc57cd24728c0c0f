/**
 * The memory of a module of the world for its modulator. A sandbox has only one; where there is no wall, one world
 * serves many, each with a memory of its own that is in place while its modulator is called. Every variable of such a
 * module is part of it.
 */
export interface Memory<M extends object> {
  /** Makes the memory of a modulator to come. */
  readonly blank: () => M;
  /** Takes the memory as it is now. */
  readonly leave: () => M;
  readonly enter: (memory: M) => void;
}
