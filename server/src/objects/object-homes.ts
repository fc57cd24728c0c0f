/** Which gateway of a cluster has which shared objects. */
export interface ObjectHomes {
  /** Whether this gateway has the object with this id. */
  isHome(id: string): boolean;
  /** Modulators here read an object of another gateway, which is asked for newer versions than this. */
  follow(id: string, version: number, state: string): void;
  /** No modulator here reads it any more. */
  unfollow(id: string): void;
}
