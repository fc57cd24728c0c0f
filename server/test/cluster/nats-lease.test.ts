import { TestNats, whyNoNats } from "@jecho/e2e/nats";
import { connect } from "@nats-io/transport-node";
import { expect, onTestFinished, test, vi } from "vitest";
import { NatsLease } from "../../src/cluster/nats-lease.ts";

const withoutNats = await whyNoNats();

test.skipIf(withoutNats)(
  "CLU-6: a gateway has one index, though the answer to the beginning of its lease is lost",
  async () => {
    const nats = await TestNats.start();
    onTestFinished(() => nats.stop());
    const connection = await connect({ servers: nats.address });
    onTestFinished(() => connection.close());
    const { bucket } = await NatsLease.claim(connection, "jecho", 1, "first");
    const kind = Object.getPrototypeOf(bucket) as typeof bucket;
    const { create } = kind;
    const creating = vi.spyOn(kind, "create");
    onTestFinished(() => creating.mockRestore());
    creating.mockImplementationOnce(async function (this: typeof bucket, ...args) {
      await create.apply(this, args);
      throw new Error("the answer is lost");
    });
    const lease = await NatsLease.claim(connection, "jecho", 1, "second");
    expect(creating).toHaveBeenCalledTimes(1);
    expect((await bucket.get(String(lease.index)))?.json()).toMatchObject({ id: "second" });
    expect(await lease.renew("second")).toBe("held");
  },
);

test.skipIf(withoutNats)(
  "CLU-8: a gateway whose lease has begun anew hears it, though the answer to that is lost",
  async () => {
    const nats = await TestNats.start();
    onTestFinished(() => nats.stop());
    const connection = await connect({ servers: nats.address });
    onTestFinished(() => connection.close());
    const lease = await NatsLease.claim(connection, "jecho", 1, "former");
    const { bucket } = lease;
    await bucket.delete(String(lease.index));
    const create = bucket.create.bind(bucket);
    bucket.create = async (...args) => {
      await create(...args);
      bucket.create = create;
      throw new Error("the answer is lost");
    };
    await expect(lease.renew("present", "former")).rejects.toThrow("the answer is lost");
    expect(await lease.renew("present", "former")).toBe("anew");
    expect(await lease.renew("present")).toBe("held");
  },
);
