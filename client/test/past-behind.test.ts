import { connect, type } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick } from "./rig.ts";

const Block = type("Block", { payload: "uint8[]" });

// How much the sockets take is the machine's.
test.each([20, 80])(
  "HIST-2: live events follow a past that came while %s MiB had to wait for the connection",
  async blocks => {
    await using rig = await startRig();
    const producing = rig.session();
    const kept = await producing.channel("kept", Tick).produce({ history: { events: 1000 } });
    const queue = { bytes: 8 << 20, whenFull: "block" } as const;
    const large = await producing.channel("large", Block).produce({ queue });
    await using way = await startCutter(rig.gateway.address);
    await using session = connect(way.address, { backoff: { firstMs: 10, mostMs: 50 } });
    await session
      .channel("large", Block)
      .subscribe(() => {}, { queue: { whenFull: "drop-oldest", limitBytes: 1 } });
    kept.publish({ n: 0, note: "" });
    await producing.flush();
    way.stall();
    for (let i = 0; i < blocks; i++) await large.publishWhenReady({ payload: new Uint8Array(1 << 20) });
    await producing.flush();
    const inbox = new Inbox<number>();
    const opening = session.channel("kept", Tick).subscribe(({ n }) => inbox.put(n), { from: 1 });
    // The history is one of those who want the events.
    await expect.poll(() => kept.demand.total).toBe(2);
    way.flow();
    await opening;
    for (let n = 1; n < 4; n++) kept.publish({ n, note: "" });
    expect(await inbox.take(4)).toEqual([0, 1, 2, 3]);
  },
);
