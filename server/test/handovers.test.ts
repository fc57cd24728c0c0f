import { createGateway } from "@jecho/server";
import { encodeControl, PROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

test("HAND-1, OBJ-11: a second device that goes before the first has answered takes no master copy with it", async () => {
  await using gateway = await createGateway();
  using first = await RawClient.connect(gateway);
  using other = await RawClient.connect(gateway);
  const opening = {
    kind: "OpenObject",
    request: 1,
    object: "view",
    lazy: false,
    term: 0,
    state: "{}",
  } as const;
  first.send(encodeControl({ ...opening, version: 1 }));
  const { copy } = await first.next("CopyUpdate");
  other.send(encodeControl({ ...opening, version: 0 }));
  expect(await other.next("CopyUpdate")).toMatchObject({ master: false });
  first.send(encodeControl({ kind: "AskHandover", request: 2 }));
  const { token } = await first.next("HandoverToken");
  const second = await RawClient.connect(gateway, false);
  second.send(encodeControl({ kind: "Hello", protocol: PROTOCOL, name: "second", handover: token }));
  const { request } = await first.next("Yield");
  second[Symbol.dispose]();
  const connections = async (): Promise<number> =>
    ((await (await fetch(`http://${gateway.address}/healthz`)).json()) as { connections: number })
      .connections;
  await expect.poll(connections).toBe(2);
  first.send(encodeControl({ kind: "Yielded", request, places: [], copies: [copy] }));
  expect(await other.next("CopyUpdate")).toMatchObject({ master: true, term: 2 });
});
