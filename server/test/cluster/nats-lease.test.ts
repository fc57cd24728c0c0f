import { TestNats, whyNoNats } from "@jecho/e2e/nats";
import { connect } from "@nats-io/transport-node";
import { expect, onTestFinished, test } from "vitest";
import { NatsLease } from "../../src/cluster/nats-lease.ts";

test.skipIf(await whyNoNats())(
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
