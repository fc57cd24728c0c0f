import { connect, type EventInfo, type JechoError, modulatorFrom, type Session } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { createToken, createTokenKeys } from "@jecho/server";
import { expect, test } from "vitest";
import { Inbox, moe, type Rig, startRig, Tick, whenState } from "./rig.ts";

const { signing, checking } = await createTokenKeys();
const gateway = { tokens: { keys: checking, clockSkewMs: 0 } };

function tokenOf(subject: string, can: readonly string[], seconds = 1000): Promise<string> {
  return createToken(signing, { subject, can, seconds });
}

/** A session whose only token was taken and is soon too old: a busy machine may need a longer one to begin with. */
async function briefly(rig: Rig): Promise<Session> {
  for (let seconds = 2; ; seconds *= 2) {
    const session = rig.session({ token: await tokenOf("bob", [], seconds) });
    const outcome = await session.ready().then(() => "ready", codeOf);
    if (outcome === "ready") return session;
    expect(outcome).toBe("TOKEN_INVALID");
  }
}

const codeOf = (error: unknown): string => (error as JechoError).code;

test("RIGHT-1: without a token, and with one that is not taken, a session is refused", async () => {
  await using rig = await startRig(gateway);
  const refused = (token?: string): Promise<string> =>
    rig
      .session(token === undefined ? {} : { token })
      .ready()
      .then(() => "ready", codeOf);
  expect(await refused()).toBe("TOKEN_INVALID");
  expect(await refused("nonsense")).toBe("TOKEN_INVALID");
  expect(await refused(await tokenOf("ana", []))).toBe("ready");
  expect(() => rig.session({ token: 7 as never })).toThrow("a string or a function is wanted");
});

test("RIGHT-4: each may do what its token allows, and hears what is missing for anything else", async () => {
  await using rig = await startRig(gateway);
  const owner = rig.session({ token: await tokenOf("owner", ["publish:weather/**"]) });
  const viewer = rig.session({ token: () => tokenOf("ana", ["subscribe:weather/*", "modulate:weather/a"]) });
  const producer = await owner.channel("weather/a", Tick).produce();
  const got = new Inbox<number>();
  const odd = modulatorFrom((event: typeof Tick.event) => event.n % 2 === 1);
  await viewer.channel("weather/a", Tick).subscribe(({ n }) => got.put(n), { modulator: odd });
  for (const n of [1, 2, 3]) await producer.publishSync({ n, note: "" });
  expect(await got.take(2)).toEqual([1, 3]);
  const refusals = [
    viewer.channel("weather/a", Tick).produce(),
    viewer.channel("weather/b", Tick).subscribe(() => {}, { modulator: odd }),
    viewer.channel("weather/a", Tick).subscribe(() => {}, { modulator: odd, as: "odd" }),
    viewer.channel("weather/a", Tick).subscribe(() => {}, { from: "last" }),
    viewer.attach("view"),
    viewer.channel("other", Tick).types(),
    viewer.kick("owner"),
  ].map(asked =>
    asked.then(
      () => "allowed",
      ({ code, message }: JechoError) => `${code}: ${message}`,
    ),
  );
  expect(await Promise.all(refusals)).toEqual(
    [
      "publish:weather/a",
      "modulate:weather/b",
      "name:weather/a#odd",
      "history:weather/a",
      "share:view",
      "subscribe:other",
      "kick:owner",
    ].map(right => `RIGHT_MISSING: ana lacks the right ${right}`),
  );
});

test("RIGHT-2: a newer token is given over the open connection before the former one is too old", async () => {
  await using rig = await startRig(gateway);
  let given = 0;
  const states: string[] = [];
  const session = rig.session({
    token: () => {
      given++;
      return tokenOf("ana", ["subscribe:**"], 6);
    },
  });
  session.onStatus(({ state }) => states.push(state));
  await session.ready();
  const began = performance.now();
  await expect.poll(() => given).toBe(3);
  // Two tokens of five to six seconds, each for half of its time.
  expect(performance.now() - began).toBeGreaterThan(4000);
  expect(states.filter(state => state !== "connecting")).toEqual(["live"]);
});

test("RIGHT-2: one whose token is too old comes back with a newer one, and one that has no other is refused", async () => {
  await using rig = await startRig(gateway);
  let good = true;
  const states = new Inbox<string>();
  const session = rig.session({
    token: async () => {
      if (good) return tokenOf("ana", ["subscribe:**"], 2);
      throw new Error("signed out");
    },
  });
  session.onStatus(({ state, error }) => states.put(error === undefined ? state : `${state} ${error.code}`));
  await session.ready();
  good = false;
  await expect.poll(() => states.all).toContain("reconnecting TOKEN_EXPIRED");
  await expect.poll(() => session.status.error?.message).toContain("there is no token: signed out");
  good = true;
  await whenState(session, "live");
  const other = await briefly(rig);
  await expect.poll(() => other.status).toMatchObject({ state: "refused" });
  expect(other.status.error?.code).toBe("TOKEN_INVALID");
});

test("RIGHT-2, DEL-11: a session that ends while its connection is broken sends its last events with the token that it had", async () => {
  await using rig = await startRig(gateway);
  await using way = await startCutter(rig.gateway.address);
  const session = connect(way.address, {
    token: () => tokenOf("owner", ["publish:a"]),
    backoff: { firstMs: 20, mostMs: 50 },
  });
  const producer = await session.channel("a", Tick).produce();
  const inbox = new Inbox<number>();
  const viewer = rig.session({ token: await tokenOf("ana", ["subscribe:a"]) });
  await viewer.channel("a", Tick).subscribe(({ n }) => inbox.put(n));
  await expect.poll(() => producer.demand.total).toBe(1);
  way.part();
  await whenState(session, "reconnecting");
  producer.publish({ n: 7, note: "" });
  const closed = session.close();
  way.join();
  await closed;
  expect(await inbox.take(1)).toEqual([7]);
});

test("RIGHT-2: what a new token allows no more ends at once, and the rest goes on", async () => {
  await using rig = await startRig(gateway);
  const owner = rig.session({ token: await tokenOf("owner", ["*:**"]) });
  const [a, b] = [await owner.channel("a", Tick).produce(), await owner.channel("b", Tick).produce()];
  let can = ["subscribe:**", "modulate:a"];
  const viewer = rig.session({ token: () => tokenOf("ana", can, 4) });
  const got = new Inbox<number>();
  const gone = viewer.channel("a", Tick).subscribe(() => {}, { modulator: modulatorFrom(() => true) });
  await viewer.channel("b", Tick).subscribe(({ n }) => got.put(n));
  await expect.poll(() => a.demand.derived.length).toBe(1);
  can = ["subscribe:**"];
  const end = Promise.withResolvers<string>();
  (await gone).onStatus(({ state, error }) => {
    if (state === "refused") end.resolve(error?.message ?? "");
  });
  expect(await end.promise).toBe("ana lacks the right modulate:a");
  await expect.poll(() => a.demand.total).toBe(0);
  await expect.poll(() => b.demand.total).toBe(1);
  b.publish({ n: 7, note: "" });
  expect(await got.take(1)).toEqual([7]);
});

test("RIGHT-2: a subject that an operator ends is refused, and its modulators are gone at once", async () => {
  await using rig = await startRig(gateway);
  const owner = rig.session({ token: await tokenOf("owner", ["*:**"]) });
  const producer = await owner.channel("a", Tick).produce();
  const viewer = rig.session({ token: () => tokenOf("ana", ["*:**"]) });
  await viewer.channel("a", Tick).subscribe(() => {}, { modulator: modulatorFrom(() => true) });
  await expect.poll(() => producer.demand.derived.length).toBe(1);
  expect(await owner.kick("nobody")).toBe(0);
  expect(await owner.kick("ana")).toBe(1);
  await whenState(viewer, "refused");
  expect(viewer.status.error?.code).toBe("KICKED");
  await expect.poll(() => producer.demand.derived.length).toBe(0);
});

test("RIGHT-6: a modulator has controls where its text says so, and only there", async () => {
  await using rig = await startRig();
  const told: number[] = [];
  const delegate = { controls: { speed: (value: unknown) => told.push(value as number) } };
  const producer = await rig.session().channel("a", Tick).produce({ delegate });
  const steering = (needs: string) =>
    moe(`static needs = [${needs}];
  enqueue(event) { this.moe[${needs}.split(".")[0]].speed(event.n); }`);
  const subscribe = (needs: string) =>
    rig
      .session()
      .channel("a", Tick)
      .subscribe(() => {}, { modulator: steering(needs) });
  await expect(subscribe('"contr" + "ols.speed"')).rejects.toMatchObject({ code: "SERVICE_NOT_GRANTED" });
  await expect(subscribe('"\\x63ontrols.speed"')).rejects.toMatchObject({ code: "SERVICE_NOT_GRANTED" });
  await subscribe('"controls.speed"');
  await producer.publishSync({ n: 7, note: "" });
  await expect.poll(() => told).toEqual([7]);
});

test("CHAN-10, RIGHT-1: which gateway is at another address is heard without a token", async () => {
  await using rig = await startRig(gateway);
  const session = rig.session({ token: await tokenOf("ana", ["subscribe:a", "publish:a"]) });
  const producer = await session.channel(`jecho://localhost:${rig.gateway.port}/a`, Tick).produce();
  const got = new Inbox<number>();
  await session.channel(`jecho://${rig.gateway.identity}/a`, Tick).subscribe(({ n }) => got.put(n));
  producer.publish({ n: 1, note: "" });
  expect(await got.take(1)).toEqual([1]);
  await expect.poll(() => rig.gateway.stats().connections).toBe(1);
});

test("RIGHT-8: each event says who raised it, wherever that and its modulator are", async () => {
  await using rig = await startRig(gateway);
  const enter = async (subject: string, options = {}) =>
    rig.session({ ...options, token: await tokenOf(subject, ["*:**"]) });
  const here = await enter("here");
  const steering = here.channel("steering", Tick);
  const heard = new Inbox<string>();
  const hear = (event: typeof Tick.event, { by }: EventInfo): void => heard.put(`${by} ${event.n}`);
  await steering.subscribe(hear);
  const own = await steering.produce();
  const ana = await (await enter("ana", { modulators: { most: 0 } })).channel("steering", Tick).produce();
  const bob = await (await enter("bob")).channel("steering", Tick).produce();
  await ana.publishSync({ n: 1, note: "" });
  await bob.publishSync({ n: 2, note: "" });
  await own.publishSync({ n: 3, note: "" });
  expect(await heard.take(3)).toEqual(["ana 1", "bob 2", "here 3"]);
  // Who comes later knows, too; ana runs no modulators, so that hers are made with the consumer.
  const late = new Inbox<string>();
  const consumer = await (await enter("late"))
    .channel("steering", Tick)
    .subscribe(({ n }, { by }) => late.put(`${by} ${n}`), {
      modulator: modulatorFrom((event: typeof Tick.event) => event.n > 3),
    });
  expect(consumer.placements.map(({ at }) => at).toSorted()).toEqual(["consumer", "producer", "producer"]);
  for (const [i, producer] of [ana, bob, own].entries()) {
    await expect.poll(() => producer.demand.total).toBeGreaterThan(1);
    await producer.publishSync({ n: i + 4, note: "" });
  }
  expect((await late.take(3)).toSorted()).toEqual(["ana 4", "bob 5", "here 6"]);
});

test("RIGHT-8: events of the past say who raised them, too, and without keys nobody has a name", async () => {
  await using rig = await startRig(gateway);
  await using open = await startRig();
  for (const [at, token] of [
    [rig, await tokenOf("ana", ["*:**"])],
    [open, undefined],
  ] as const) {
    const session = () => at.session(token === undefined ? {} : { token });
    const producing = session();
    const producer = await producing.channel("a", Tick).produce({ history: { events: 10 } });
    producer.publish({ n: 1, note: "" });
    await producing.flush();
    const heard = new Inbox<string>();
    const hear = ({ n }: typeof Tick.event, { by }: EventInfo): void => heard.put(`${by} ${n}`);
    await session().channel("a", Tick).subscribe(hear, { from: 1 });
    const name = token === undefined ? "undefined" : "ana";
    expect(await heard.take(1)).toEqual([`${name} 1`]);
    // Of these the past is made with the consumer.
    const modulator = modulatorFrom(() => true);
    await session()
      .channel("a", Tick)
      .subscribe(hear, { from: new Date(0), modulator });
    expect(await heard.take(2)).toEqual([`${name} 1`, `${name} 1`]);
    producer.publish({ n: 2, note: "" });
    expect((await heard.take(4)).slice(2)).toEqual([`${name} 2`, `${name} 2`]);
  }
});

test("RIGHT-9: each copy of a shared object says who made its version, and a producer who brought a modulator", async () => {
  await using rig = await startRig(gateway);
  const enter = async (subject: string) => {
    const session = rig.session({ token: await tokenOf(subject, ["*:**"]) });
    await session.ready();
    return session;
  };
  const [owner, ana, bob] = [await enter("owner"), await enter("ana"), await enter("bob")];
  await expect.poll(() => [owner, ana, bob].map(({ subject }) => subject)).toEqual(["owner", "ana", "bob"]);
  const master = owner.share({ speed: 1, colour: "red" });
  await master.ready();
  await expect.poll(() => master.by).toBe("owner");
  const [anas, bobs] = [
    await ana.attach<typeof master.state>(master.id),
    await bob.attach<typeof master.state>(master.id),
  ];
  expect([anas.by, bobs.by]).toEqual(["owner", "owner"]);
  const all = [master, anas, bobs];
  const shows = (speed: number, by: string) =>
    expect.poll(() => all.map(copy => [copy.state.speed, copy.by])).toEqual(all.map(() => [speed, by]));
  anas.update({ speed: 2 });
  await shows(2, "ana");
  bobs.update({ speed: 3 });
  await shows(3, "bob");
  master.update({ speed: 4 });
  await shows(4, "owner");
  const producer = await owner.channel("a", Tick).produce();
  const modulator = modulatorFrom(() => true);
  await bob.channel("a", Tick).subscribe(() => {}, { modulator });
  await ana.channel("a", Tick).subscribe(() => {}, { modulator });
  await expect.poll(() => producer.demand).toMatchObject({ derived: [{ by: "bob", consumers: 2 }] });
});

test("RIGHT-9: without keys nobody has a name", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const object = session.share({ speed: 1 });
  await object.ready();
  expect([session.subject, object.by]).toEqual([undefined, undefined]);
  const producer = await session.channel("a", Tick).produce();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: modulatorFrom(() => true) });
  await expect.poll(() => producer.demand).toMatchObject({ derived: [{ by: undefined }] });
});

test("RIGHT-8: a session whose new token is another subject's is refused", async () => {
  await using rig = await startRig(gateway);
  let subject = "ana";
  // Ana's is too old soon, and bob's is not before a busy machine has looked at it.
  const session = rig.session({ token: () => tokenOf(subject, ["*:**"], subject === "ana" ? 5 : 60) });
  await session.ready();
  subject = "bob";
  await whenState(session, "refused");
  expect(session.status.error).toMatchObject({
    code: "TOKEN_INVALID",
    message: "the session is ana's: bob needs a session of its own",
  });
});

test("RIGHT-4: who may have a derived channel alone gets it from those who run its modulator, and never what it is made of", async () => {
  await using rig = await startRig(gateway);
  const owner = rig.session({ token: await tokenOf("owner", ["*:**"]) });
  const viewer = rig.session({ token: await tokenOf("ana", ["subscribe:*#public"]) });
  const modulator = modulatorFrom((event: typeof Tick.event) => event.n > 1);
  const own = await owner.channel("a", Tick).produce();
  await owner.channel("a", Tick).subscribe(() => {}, { modulator, as: "public" });
  const got = new Inbox<number>();
  const consumer = await viewer.channel("a#public", Tick).subscribe(({ n }) => got.put(n));
  for (const n of [1, 2, 3]) await own.publishSync({ n, note: "" });
  expect(await got.take(2)).toEqual([2, 3]);
  await expect(viewer.channel("a", Tick).subscribe(() => {})).rejects.toMatchObject({
    code: "RIGHT_MISSING",
  });
  // A further producer runs no modulators: what it raises reaches this viewer no more than what it may not see.
  const lazy = rig.session({ token: await tokenOf("owner", ["*:**"]), modulators: { most: 0 } });
  const other = await lazy.channel("a", Tick).produce();
  await expect
    .poll(() => consumer.placements.map(({ at, code }) => `${at} ${code}`).toSorted())
    .toEqual(["nowhere RIGHT_MISSING", "producer undefined"]);
  await other.publishSync({ n: 4, note: "" });
  await own.publishSync({ n: 5, note: "" });
  expect(await got.take(3)).toEqual([2, 3, 5]);
  await lazy.channel("b", Tick).produce();
  await owner.channel("b", Tick).subscribe(() => {}, { modulator, as: "public" });
  await expect(viewer.channel("b#public", Tick).subscribe(() => {})).rejects.toMatchObject({
    code: "RIGHT_MISSING",
    message: "ana lacks the right subscribe:b",
  });
});

test("RIGHT-4: a change of the modulator takes the right to one, and without it the consumer goes on as it was", async () => {
  await using rig = await startRig(gateway);
  const producer = await rig
    .session({ token: await tokenOf("owner", ["*:**"]) })
    .channel("a", Tick)
    .produce();
  const viewer = rig.session({ token: await tokenOf("ana", ["subscribe:a"]) });
  const got = new Inbox<number>();
  const consumer = await viewer.channel("a", Tick).subscribe(({ n }) => got.put(n));
  const modulator = modulatorFrom((event: typeof Tick.event) => event.n > 1);
  await expect(consumer.reset({ modulator })).rejects.toMatchObject({
    code: "RIGHT_MISSING",
    message: "ana lacks the right modulate:a",
  });
  await producer.publishSync({ n: 1, note: "" });
  expect(await got.take(1)).toEqual([1]);
});

test("RIGHT-2: a producer whose new token does not let it publish is none any more", async () => {
  await using rig = await startRig(gateway);
  let can = ["publish:a"];
  const session = rig.session({ token: () => tokenOf("ana", can, 4) });
  const producer = await session.channel("a", Tick).produce();
  can = [];
  const whyNot = (): unknown => {
    try {
      producer.publish({ n: 1, note: "" });
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
  await expect.poll(whyNot).toBe("ana lacks the right publish:a");
  expect(session.status.state).toBe("live");
  expect(rig.gateway.stats().channels).toBe(0);
});

test("RIGHT-7: a device that takes over opens what it is handed by the rights of its own token", async () => {
  await using rig = await startRig(gateway);
  const first = rig.session({ token: await tokenOf("ana", ["subscribe:**", "handover:**"]) });
  for (const channel of ["a", "b"])
    await first.channel(channel, Tick).subscribe(() => {}, { label: channel });
  const { token: handover } = await first.handover();
  const second = rig.session({ token: await tokenOf("ana", ["subscribe:b"]), handover });
  const { subscriptions } = await second.inheritance();
  const taken = subscriptions.map(subscription =>
    subscription
      .takeOver(() => {}, { type: Tick })
      .then(
        () => subscription.label,
        ({ message }: JechoError) => message,
      ),
  );
  expect((await Promise.all(taken)).toSorted()).toEqual(["ana lacks the right subscribe:a", "b"]);
});
