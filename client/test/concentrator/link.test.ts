import { createGateway } from "@jecho/server";
import type { Control, Frame } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { Link } from "../../src/concentrator/link.ts";
import { Inbox } from "../rig.ts";

test("all that is sent in acts within acts goes out, in its order, and so does what follows one that failed", async () => {
  await using gateway = await createGateway();
  const live = Promise.withResolvers<void>();
  const answered = new Inbox<number>();
  const link = new Link(
    {
      url: `ws://${gateway.address}/`,
      name: "",
      backoff: {},
      others: [],
      connectTimeoutMs: 10_000,
      handover: "",
      modulating: "",
      hasToken: false,
    },
    {
      onStatus: ({ state }) => state === "live" && live.resolve(),
      onGateway: () => {},
      onFrame: (frame: Frame) => answered.put((frame as Extract<Control, { kind: "Types" }>).request),
      onTokenWanted: () => {},
      onAdmitted: () => {},
      onReady: () => {},
    },
  );
  link.connect();
  await live.promise;
  const ask = (request: number): void => link.send({ kind: "WantTypes", request, channel: "a" });
  link.together(() => {
    ask(1);
    link.together(() => {
      ask(2);
      link.together(() => ask(3));
    });
    expect(() =>
      link.together(() => {
        ask(4);
        throw new Error("failed");
      }),
    ).toThrow("failed");
    ask(5);
  });
  ask(6);
  expect(await answered.take(6)).toEqual([1, 2, 3, 4, 5, 6]);
  link.close();
});
