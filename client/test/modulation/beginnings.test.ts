import { once } from "node:events";
import { EventsFrame, encodeControl, PROTOCOL, parseMessage, SUBPROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { EVEN, Inbox, numbersOf, startRig, Tick } from "../rig.ts";

/** A modulator that takes its time to install. */
const SLOW = {
  source: EVEN.source.replace(
    "export default",
    "let sum = 0;\nfor (let i = 0; i < 2e7; i++) sum += i % 7;\nexport default",
  ),
};

test.each(["a", "a#even"])(
  "PROV-1: a modulator behind another accounts for all that a producer of %s raises that opens while it is being installed",
  async name => {
    await using rig = await startRig();
    const session = rig.session();
    const channel = session.channel("a", Tick);
    await channel.produce();
    await channel.subscribe(() => {}, { modulator: EVEN, as: "even" });
    const plain = await numbersOf(rig, name, Tick);
    const opening = session.channel("a#even", Tick).subscribe(() => {}, { modulator: SLOW });
    const runs = new Inbox<[after: number, through: number]>();
    const socket = new WebSocket(`ws://${rig.gateway.address}/`, SUBPROTOCOL);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) =>
      parseMessage(new Uint8Array(data), frame => {
        if (frame instanceof EventsFrame) runs.put([frame.after, frame.through]);
      });
    await once(socket, "open");
    const modulator = { ...SLOW, parameters: "", key: "", objects: [], capabilities: [], compares: false };
    const send = (frame: Parameters<typeof encodeControl>[0]): void =>
      socket.send(encodeControl(frame) as Uint8Array<ArrayBuffer>);
    send({ kind: "Hello", protocol: PROTOCOL, name: "" });
    send({ kind: "OpenConsumer", request: 1, channel: "a#even", modulator });
    const producer = await session.channel(name, Tick).produce();
    for (let n = 1; n <= 10; n++) producer.publish({ n: 2 * n, note: "" });
    await plain.take(10);
    await opening;
    producer.publish({ n: 22, note: "" });
    await expect.poll(() => runs.all.at(-1)?.[1]).toBe(11);
    // No run says that it was made of nothing.
    expect(runs.all.filter(([after, through]) => after >= through)).toEqual([]);
    socket.close();
  },
);
