import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { mqttConnect, mqttPublish, mqttSubscribe, openMqtt, openNats } from "../src/broker-clients.ts";

let server: Server | undefined;
afterEach(
  () => new Promise<void>(resolve => (server === undefined ? resolve() : server.close(() => resolve()))),
);

/** A server that says this to whoever connects, a byte at a time, and keeps what it hears. */
async function saying(bytes: Buffer): Promise<{ port: number; heard: () => Buffer }> {
  const heard: Buffer[] = [];
  server = createServer({ noDelay: true }, async socket => {
    socket.on("data", chunk => heard.push(chunk));
    socket.on("end", () => socket.destroy());
    for (const byte of bytes) await new Promise(resolve => socket.write(Buffer.of(byte), resolve));
    socket.end();
  });
  await new Promise<void>(resolve => server?.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, heard: () => Buffer.concat(heard) };
}

const SUBACK = Buffer.from([0x90, 3, 0, 1, 0]);
const long = Buffer.alloc(300, 7);

describe("an MQTT client", () => {
  it("takes messages of any length however their bytes are cut, and nothing else for one", async () => {
    const stream = Buffer.concat([
      Buffer.from([0x20, 2, 0, 0]),
      SUBACK,
      mqttPublish("answer", Buffer.from("one")),
      Buffer.from([0xd0, 0]),
      mqttPublish("answer", long),
    ]);
    const { port, heard } = await saying(stream);
    const messages: Buffer[] = [];
    await openMqtt(port, "answer", payload => messages.push(Buffer.from(payload)));
    await expect.poll(() => messages).toEqual([Buffer.from("one"), long]);
    const greeting = Buffer.concat([mqttConnect("answer"), mqttSubscribe("answer")]);
    await expect.poll(heard).toEqual(greeting);
  });

  it("writes packets as MQTT 3.1.1 has them", () => {
    expect(mqttConnect("a").toString("hex")).toBe("100d00044d5154540402000000" + "0161");
    expect(mqttSubscribe("ab").toString("hex")).toBe("82070001" + "00026162" + "00");
    // A length of 128 and more takes two bytes.
    expect(mqttPublish("ab", long).subarray(0, 7).toString("hex")).toBe("30b002" + "00026162");
  });
});

it("a client of nats-server takes messages however their bytes are cut", async () => {
  const stream = Buffer.from(
    'INFO {"server_id":"x"}\r\nPONG\r\nMSG answer 1 3\r\none\r\nPING\r\nMSG answer 1 4\r\nM\r\nA\r\n',
  );
  const { port } = await saying(stream);
  const messages: string[] = [];
  await openNats(port, "answer", payload => messages.push(payload.toString()));
  await expect.poll(() => messages).toEqual(["one", "M\r\nA"]);
});
