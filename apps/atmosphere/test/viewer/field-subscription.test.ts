import { connect, type View } from "@jecho/client";
import { expect, test } from "vitest";
import { FieldSubscription } from "../../viewer/src/field-subscription.ts";

const START: View = {
  firstLayer: 3,
  lastLayer: 3,
  south: -90,
  north: 90,
  west: -180,
  east: 180,
  stride: 1,
};

async function withSubscription(check: (subscription: FieldSubscription) => Promise<void>): Promise<void> {
  // What it looks at is the master copy here, gateway or not.
  const session = connect("jecho://localhost:1/");
  const subscription = new FieldSubscription(session, {
    view: START,
    mode: { kind: "filter" },
    receive: () => {},
  });
  try {
    await check(subscription);
  } finally {
    subscription.close();
    await session.close();
  }
}

test("a change goes out at the end of the turn, with all that was changed in it", () =>
  withSubscription(async subscription => {
    const { view } = subscription;
    subscription.update({ firstLayer: 4, lastLayer: 4 });
    subscription.update({ stride: 2 });
    expect(view.version).toBe(1);
    await Promise.resolve();
    expect(view).toMatchObject({ version: 2, state: { firstLayer: 4, lastLayer: 4, stride: 2 } });
    expect(subscription.waitingSince).toBeGreaterThan(0);
  }));

test("what changes while a drag goes on goes out together, the newest of it", () =>
  withSubscription(async subscription => {
    const { view } = subscription;
    subscription.update({ west: -90 });
    await Promise.resolve();
    for (let west = -80; west <= 0; west += 10) {
      subscription.update({ west });
      await Promise.resolve();
    }
    await expect.poll(() => view.state.west).toBe(0);
    expect(view.version).toBe(3);
  }));

test("what changes nothing is not waited for, and holds up nothing", () =>
  withSubscription(async subscription => {
    subscription.update({ west: START.west });
    await Promise.resolve();
    expect(subscription.waitingSince).toBe(0);
    subscription.update({ west: 10 });
    await Promise.resolve();
    expect(subscription.view.version).toBe(2);
  }));

test("a subscription that ends leaves no shared object behind", () =>
  withSubscription(async subscription => {
    const { view } = subscription;
    subscription.close();
    expect(() => view.update({ stride: 2 })).toThrow(expect.objectContaining({ code: "CLOSED" }));
  }));
