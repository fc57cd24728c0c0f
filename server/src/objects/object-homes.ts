/** Which gateway of a cluster has which shared objects. */
export interface ObjectHomes {
  /** Whether this gateway has the object with this id. */
  isHome(id: string): boolean;
  /** Modulators here read an object that another gateway has: that is to say what is newer than this. */
  follow(id: string, version: number, state: string): void;
  /** None do any more. */
  unfollow(id: string): void;
}
