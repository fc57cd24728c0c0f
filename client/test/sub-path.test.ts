import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type } from "@jecho/client";
import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";
import { Inbox } from "./rig.ts";

const Count = type("Count", { n: "uint32" });

test("CHAN-1: a gateway behind a proxy is reached under a path, which is a part of its channels' names", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  try {
    await writeFile(join(folder, "index.html"), "<p>hello</p>");
    await using gateway = await createGateway({ path: "/dept/jecho", staticFolder: folder });
    expect(gateway.address).toBe(`127.0.0.1:${gateway.port}/dept/jecho`);
    const sessions = [`http://${gateway.address}`, `ws://${gateway.address}/`, gateway.address].map(address =>
      connect(address, { place: "here" }),
    );
    const seen = new Inbox<number>();
    for (const session of sessions) {
      expect(session.address).toBe(gateway.address);
      const channel = session.channel(`jecho://${gateway.address}/a/b`, Count);
      expect(channel.name).toBe(`jecho://${gateway.address}/a/b`);
      await channel.subscribe(({ n }) => seen.put(n));
    }
    const producer = await (sessions[0] as (typeof sessions)[0]).channel("a/b", Count).produce();
    await expect.poll(() => producer.demand.consumers).toBe(3);
    producer.publish({ n: 5 });
    expect(await seen.take(3)).toEqual([5, 5, 5]);
    const alias = sessions[0]?.channel(`jecho://localhost:${gateway.port}/dept/jecho/a/b`, Count);
    await alias?.subscribe(({ n }) => seen.put(n));
    producer.publish({ n: 6 });
    expect((await seen.take(7)).slice(3)).toEqual([6, 6, 6, 6]);
    // Without the path nobody is there.
    const nowhere = sessions[0]?.channel(`jecho://127.0.0.1:${gateway.port}/a/b`, Count);
    await expect(nowhere?.subscribe(() => {})).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await Promise.all(sessions.map(session => session.close()));
    const get = (path: string) => fetch(`http://127.0.0.1:${gateway.port}${path}`);
    expect((await get("/dept/jecho/healthz")).status).toBe(200);
    for (const path of ["/dept/jecho/", "/dept/jecho"])
      expect(await (await get(path)).text()).toBe("<p>hello</p>");
    for (const path of ["/", "/healthz", "/index.html"]) expect((await get(path)).status).toBe(404);
  } finally {
    await rm(folder, { recursive: true });
  }
});
