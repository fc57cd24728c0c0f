import { connect, type Session } from "@jecho/client";
import { expect, onTestFinished, test } from "vitest";
import { Inbox, PATIENT, Tick, whenState } from "../rig.ts";
import { ClusterRig } from "./rig.ts";

/** Names of channels: all but certainly, each of three gateways is the home of some. */
const NAMES = Array.from({ length: 12 }, (_, i) => `sim/${i}`);
const EVERY_OTHER = `import { FifoModulator } from "jecho:moe";
  export default class extends FifoModulator {
    seen = 0;
    enqueue(event) { if (++this.seen % this.moe.objects.view.step === 0) super.enqueue(event); }
  }`;

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

test.for([0, 1, 2])(
  "HAND-5: a session with channels at all gateways goes on at another device, which connects to gateway %i",
  async at => {
    const rig = await ClusterRig.start(3, "TCP");
    const producing = rig.session(0);
    const producers = await Promise.all(NAMES.map(name => producing.channel(name, Tick).produce()));
    const first = rig.session(1);
    const view = first.share({ step: 2 });
    const heard = new Map<string, Inbox<number>>();
    for (const name of NAMES) {
      const channel = first.channel(name, Tick);
      for (const kind of ["plain", "halved"]) {
        const inbox = new Inbox<number>();
        heard.set(`${kind} ${name}`, inbox);
        const modulator = { source: EVERY_OTHER, objects: { view } };
        await channel.subscribe(({ n }) => inbox.put(n), {
          label: `${kind} ${name}`,
          ...(kind === "halved" && { modulator }),
        });
      }
    }
    for (const producer of producers) await expect.poll(() => producer.demand.total).toBe(2);
    const installed = producers.map(({ demand }) => demand.derived[0]?.id);
    const raise = (from: number, to: number): void => {
      for (const producer of producers) for (let n = from; n <= to; n++) producer.publish({ n, note: "" });
    };
    raise(1, 20);
    const { token } = await first.handover();
    raise(21, 40);
    const second = connect(rig.gateways[at]?.address as string, { handover: token });
    onTestFinished(() => second.close());
    const { subscriptions } = await second.inheritance();
    expect(subscriptions.map(({ label }) => label).sort()).toEqual([...heard.keys()].sort());
    raise(41, 60);
    for (const subscription of subscriptions)
      await subscription.takeOver<{ n: number }>(({ n }) => heard.get(subscription.label)?.put(n));
    await whenState(first, "refused");
    expect(first.status.error?.code).toBe("HANDED_OVER");
    raise(61, 80);
    for (const [label, inbox] of heard) {
      const isHalved = label.startsWith("halved");
      const all = isHalved ? upTo(40).map(n => 2 * n) : upTo(80);
      expect({ [label]: await inbox.take(all.length) }).toEqual({ [label]: all });
    }
    expect(producers.map(({ demand }) => demand.derived[0]?.id)).toEqual(installed);
    const inherited = subscriptions.find(({ label }) => label.startsWith("halved"))?.objects.view as {
      update(state: object): void;
      state: object;
    };
    expect(inherited.state).toEqual({ step: 2 });
    inherited.update({ step: 1_000_000 });
    for (const producer of producers)
      await expect.poll(() => producer.demand.derived[0]?.objects.view).toEqual({ step: 1_000_000 });
  },
);

test("HAND-4, HAND-5: what a session opened at further homes since it asked for the token ends, and other sessions of its process go on", async () => {
  const rig = await ClusterRig.start(3, "TCP");
  const producing = rig.session(0);
  const producers = await Promise.all(NAMES.map(name => producing.channel(name, Tick).produce()));
  const options = { name: "one process", modulators: PATIENT };
  const sessions = [1, 2].map(() => connect(rig.gateways[1]?.address as string, options));
  const [first, other] = sessions as [Session, Session];
  for (const session of sessions) onTestFinished(() => session.close());
  const { token } = await first.handover();
  const stays = new Inbox<number>();
  await other.channel("sim/0", Tick).subscribe(({ n }) => stays.put(n));
  for (const name of NAMES) await first.channel(name, Tick).subscribe(() => {});
  const second = connect(rig.gateways[2]?.address as string, { handover: token });
  onTestFinished(() => second.close());
  const { subscriptions } = await second.inheritance();
  // Subscriptions at its own gateway come along, as at a gateway that stands alone.
  expect(subscriptions.length).toBeLessThan(NAMES.length);
  const isInherited = (name: string): boolean =>
    subscriptions.some(({ channel }) => channel.endsWith(`/${name}`));
  for (const [i, name] of NAMES.entries())
    await expect.poll(() => producers[i]?.demand.total).toBe((i === 0 ? 1 : 0) + (isInherited(name) ? 1 : 0));
  producers[0]?.publish({ n: 1, note: "" });
  expect(await stays.take(1)).toEqual([1]);
});

test("HAND-3, HAND-5: a token is good once, and as long as each gateway is there that has a part of it", async () => {
  const rig = await ClusterRig.start(3, "TCP");
  const first = rig.session(0);
  for (const name of NAMES) await first.channel(name, Tick).subscribe(() => {});
  const take = async (token: string): Promise<unknown> => {
    const session = connect(rig.gateways[1]?.address as string, { handover: token });
    onTestFinished(() => session.close());
    return session.inheritance();
  };
  const { token } = await first.handover();
  const [own = "", other = "", third = ""] = token.split(".");
  const refused = { code: "HANDOVER_INVALID" };
  // The last character's last bits may say nothing.
  const forged = own.replace(/^./, first => (first === "A" ? "B" : "A"));
  await expect(take([forged, other, third].join("."))).rejects.toMatchObject(refused);
  expect(first.status.state).toBe("live");
  const { token: newer } = await first.handover();
  await take(newer);
  await expect(take(newer)).rejects.toMatchObject(refused);
});
