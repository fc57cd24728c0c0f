import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createGateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import type { Control, Frame } from "@jecho/shared/internal";
import { expect, onTestFinished, test } from "vitest";
import { Link } from "../../src/concentrator/link.ts";
import { frameOf, greeting } from "../platform/bare-server.ts";
import { Inbox } from "../rig.ts";

/** A link to the first of these gateways; the others are known to it. @param live called when it is there */
function linkTo([url, ...others]: readonly string[], live: () => void, onFrame = (_: Frame) => {}): Link {
  const link = new Link(
    {
      url: url as string,
      name: "",
      backoff: { firstMs: 1 },
      others,
      connectTimeoutMs: 10_000,
      handover: "",
      modulating: "",
      hasToken: false,
    },
    {
      onStatus: ({ state }) => state === "live" && live(),
      onGateway: () => {},
      onFrame,
      onTokenWanted: () => {},
      onAdmitted: () => {},
      onReady: () => {},
    },
  );
  link.connect();
  return link;
}

test("all that is sent in acts within acts goes out, in its order, and so does what follows one that failed", async () => {
  await using gateway = await createGateway();
  const live = Promise.withResolvers<void>();
  const answered = new Inbox<number>();
  const link = linkTo([`ws://${gateway.address}/`], live.resolve, frame =>
    answered.put((frame as Extract<Control, { kind: "Types" }>).request),
  );
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

test("CLU-5: a gateway that sends the client away twice is left: it does not agree with the others on a channel's home", async () => {
  await using gateway = await createGateway();
  let greeted = 0;
  const disagreeing = createServer(socket => {
    socket.on("error", () => {});
    socket.once("data", head => {
      greeted++;
      const [, key = ""] = /Sec-WebSocket-Key: (.*)\r\n/.exec(`${head}`) ?? [];
      const [, protocol] = /Sec-WebSocket-Protocol: ([^,\r]*)/.exec(`${head}`) ?? [];
      const [code] = ERRORS.CHANNEL_MOVED;
      socket.write(greeting(key, protocol));
      socket.end(frameOf(8, Uint8Array.of(code >> 8, code & 255)));
    });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void disagreeing.close());
  await once(disagreeing, "listening");
  const { port } = disagreeing.address() as AddressInfo;
  const live = Promise.withResolvers<void>();
  const link = linkTo([`ws://127.0.0.1:${port}/`, `ws://${gateway.address}/`], live.resolve);
  await live.promise;
  link.close();
  // Once it stays there: the gateway has only just heard who else is one.
  expect(greeted).toBeGreaterThanOrEqual(2);
});
