/** The views on the page, with their subscriptions, for those who speak of all of them. */
import type { FieldSubscription } from "../field-subscription.ts";
import type { ViewKind } from "./arrangement.ts";

export interface ShownView {
  /** Its name in the page's traffic: no two views have the same. */
  readonly part: string;
  readonly name: ViewKind;
  readonly title: string;
  /** Among the views of the page. */
  readonly place: number;
  readonly subscription: FieldSubscription;
}

export class ShownViews {
  readonly #listeners = new Set<() => void>();
  #views: readonly ShownView[] = [];

  /** Shows a view until the returned function is called. */
  add(view: ShownView): () => void {
    this.#set([...this.#views, view].sort((a, b) => a.place - b.place));
    return () => this.#set(this.#views.filter(each => each !== view));
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** In their order on the page. */
  readonly snapshot = (): readonly ShownView[] => this.#views;

  #set(views: readonly ShownView[]): void {
    this.#views = views;
    for (const listener of this.#listeners) listener();
  }
}
