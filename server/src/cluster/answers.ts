import type { Control } from "@jecho/shared/internal";
import type { ClientConnection } from "../connections/client-connection.ts";

export type AnswerOf<Kind extends Control["kind"]> = Extract<Control, { kind: Kind }>;

/** One gateway's part of the answer to a client that asks them all. */
export type PartOfAnswer =
  | AnswerOf<"HandoverToken">
  | AnswerOf<"Inheritance">
  | AnswerOf<"Kicked">
  | AnswerOf<"Overview">;

/** Requests of clients that go to all gateways of a cluster. */
export interface AllGateways {
  /** Asks the others for what they have for the bearer of this token. @returns this gateway's part of the token; undefined for none */
  takeOver(connection: ClientConnection, token: string): string | undefined;
  /** A client has another token from now on: homes that it comes to are shown that. */
  renewed(connection: ClientConnection, token: string): void;
  /** @returns false where this gateway's part is the whole */
  join(connection: ClientConnection, part: PartOfAnswer): boolean;
}

/** Most channels of an overview. */
export const MOST_CHANNELS = 1000;

/** Two gateways' parts as one. @param other of the same kind */
export function joined(one: PartOfAnswer, other: PartOfAnswer): PartOfAnswer {
  if (one.kind === "HandoverToken" && other.kind === one.kind) {
    const validMs = Math.min(one.validMs, other.validMs);
    return { ...one, token: `${one.token}.${other.token}`, validMs };
  }
  if (one.kind === "Inheritance" && other.kind === one.kind) {
    const subscriptions = [...one.subscriptions, ...other.subscriptions];
    return { ...one, subscriptions, objects: [...one.objects, ...other.objects] };
  }
  if (one.kind === "Kicked" && other.kind === one.kind)
    return { ...one, connections: one.connections + other.connections };
  if (one.kind === "Overview" && other.kind === one.kind)
    return {
      ...one,
      connections: one.connections + other.connections,
      channels: one.channels + other.channels,
      matching: one.matching + other.matching,
      of: [...one.of, ...other.of].slice(0, MOST_CHANNELS),
    };
  throw new TypeError(`${other.kind} is no part of ${one.kind}`);
}
