import type { Modulator } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { ModulatorEnvironment } from "@jecho/modulators/node";
import { errorCode, JechoError, type } from "@jecho/shared";
import {
  EventsFrame,
  encodeRun,
  type Install,
  type Instead,
  type Outgoing,
  type Remove,
} from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { installOf, modulationIn } from "./modulation-in.ts";

/** Ends by itself, soon after it was installed. */
const failing: Modulator = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { static periodMs = 10; period() { throw new Error("over"); } }`,
};

const install = installOf(failing);

function removal({ request, derived }: Pick<Install, "request" | "derived">): Remove {
  return { kind: "Remove", request, derived, process: 3, returns: false };
}

/** An event of source 9 is raised. @param feed names what it comes by @param raising tag of a synchronous event */
function raise(
  { runs }: ReturnType<typeof modulationIn>,
  feed: string,
  raised: number,
  raising?: string,
): void {
  const header = { channel: 1, producer: 4, raised, token: 0n, parameters: 0, flags: 0 };
  const run = EventsFrame.at(encodeRun(header, [{ bytes: new Uint8Array(8), start: 0, end: 8 }]));
  runs.enqueue(feed, run, { source: { id: 9n, urgent: false }, after: raised - 1, through: raised }, raising);
}

test("MOE-19: one that ends while its feed is opened is refused with the reason, and nothing else is said of it", async () => {
  const answers: Outgoing[] = [];
  const unfed: string[] = [];
  const fed = Promise.withResolvers<void>();
  const modulation = modulationIn(events => new ModulatorEnvironment({ trusted: [failing.source] }, events), {
    onAnswer: answer => answers.push(answer),
    onFeed: () => fed.promise,
    onUnfed: name => unfed.push(name),
  });
  modulation.installer.install(install, undefined);
  await expect.poll(() => answers).toHaveLength(1);
  fed.resolve();
  await modulation.runs.finished();
  expect(answers.map(answer => ("code" in answer ? [answer.kind, errorCode(answer.code)] : answer))).toEqual([
    ["Refused", "MODULATOR_FAILED"],
  ]);
  expect(unfed).toEqual(["3@a"]);
  expect([...modulation.installed]).toEqual([]);
  await modulation.close();
});

const FIFO = `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator {}`;
const withView: Install = {
  ...install,
  modulator: modulatorTable({ source: FIFO, objects: { view: { id: "o", version: 1, state: { at: 1 } } } }),
};

/** A process whose environment is loaded when its first modulator comes, as a page's is. */
class LateEnvironment {
  readonly answers: Outgoing[] = [];
  /** One for each time that it was asked for. */
  readonly loads: { done(): void; failed(error: Error): void }[] = [];
  readonly modulation = modulationIn(
    events =>
      new Promise((resolve, failed) => {
        const done = (): void => resolve(new ModulatorEnvironment({ trusted: [FIFO] }, events));
        this.loads.push({ done, failed });
      }),
    { onAnswer: answer => this.answers.push(answer) },
  );

  /** Kinds of the answers, with their errors' codes. */
  get said(): string[] {
    return this.answers.map(answer =>
      "code" in answer && answer.code ? `${answer.kind} ${errorCode(answer.code)}` : answer.kind,
    );
  }
}

test("states that come while the environment is loaded reach the modulators that wait for it", async () => {
  const place = new LateEnvironment();
  place.modulation.installer.install(withView, undefined);
  place.modulation.update({ kind: "ObjectUpdate", derived: 0, object: "o", version: 2, state: '{"at":2}' });
  place.loads[0]?.done();
  await expect.poll(() => place.said).toEqual(["Installed"]);
  expect([...place.modulation.installed].map(({ objects }) => objects.get("o")?.state)).toEqual([{ at: 2 }]);
  expect(place.loads).toHaveLength(1);
  await place.modulation.close();
});

test("a modulator that is removed while the environment is loaded is not installed", async () => {
  const place = new LateEnvironment();
  place.modulation.installer.install(withView, undefined);
  place.modulation.remove(removal(install));
  place.loads[0]?.done();
  await expect.poll(() => place.said).toEqual(["Refused CLOSED"]);
  expect([...place.modulation.installed]).toEqual([]);
  await place.modulation.close();
});

const Place = type("Place", { at: "int32" });
/** Is compiled, and new to this process. */
const unseen: Install = {
  ...install,
  modulator: modulatorTable({
    source: `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { enqueue(event) { if (event.at >= this.objects.view.at) super.enqueue(event); } }`,
    objects: { view: { id: "o", version: 1, state: { at: 1 } } },
  }),
  instead: { ...(install.instead as Instead), schema: Place.schema },
};

test("a modulator that is compiled begins with the newest states, and one that is removed meanwhile not at all", async () => {
  const answers: Outgoing[] = [];
  const modulation = modulationIn(events => new ModulatorEnvironment({}, events), {
    onAnswer: answer => answers.push(answer),
  });
  modulation.installer.install(unseen, undefined);
  modulation.installer.install({ ...unseen, derived: 3, request: 6 }, undefined);
  // Not there yet: both wait for the compiler.
  expect([...modulation.installed]).toEqual([]);
  modulation.update({ kind: "ObjectUpdate", derived: 0, object: "o", version: 2, state: '{"at":2}' });
  modulation.update({ kind: "ObjectUpdate", derived: 0, object: "o", version: 3, state: '{"at":3}' });
  modulation.remove(removal({ derived: 3, request: 6 }));
  await expect.poll(() => answers).toHaveLength(2);
  expect(answers).toMatchObject([
    { kind: "Installed", request: 5, tier: "compiled" },
    { kind: "Refused", request: 6 },
  ]);
  expect([...modulation.installed].map(({ objects }) => objects.get("o")?.state)).toEqual([{ at: 3 }]);
  await modulation.close();
});

test("an environment that cannot be loaded is asked for again by the next modulator", async () => {
  const place = new LateEnvironment();
  place.modulation.installer.install(withView, undefined);
  place.loads[0]?.failed(new Error("no network"));
  await expect.poll(() => place.said).toEqual(["Refused MODULATORS_NOT_SERVED"]);
  place.modulation.installer.install(withView, undefined);
  place.loads[1]?.done();
  await expect.poll(() => place.said.at(-1)).toBe("Installed");
  await place.modulation.close();
});

test("PROV-5: modulators in others' stead may have something to do for their channel, or for any while their connection is broken", async () => {
  const modulation = modulationIn(events => new ModulatorEnvironment({ local: false }, events), {});
  const idle = modulatorTable({
    source: `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator {}`,
  });
  expect(modulation.finishedFor(2)).toBeUndefined();
  modulation.installer.install({ ...install, modulator: idle }, undefined);
  await expect.poll(() => [...modulation.installed].length).toBe(1);
  expect(modulation.finishedFor(3)).toBeUndefined();
  await modulation.finishedFor(2);
  modulation.interrupted();
  expect(modulation.finishedFor(3)).toBeInstanceOf(Promise);
  await modulation.close();
});

test("PROV-2: one that was fed over the wire is fed by the modulator before it, once that is here, too", async () => {
  const made: [derived: number, events: number][] = [];
  const modulation = modulationIn(events => new ModulatorEnvironment({ trusted: [FIFO] }, events), {
    onEvents({ number }, { count }): undefined {
      made.push([number, count]);
    },
  });
  const parent = { ...install, modulator: modulatorTable({ source: FIFO }) };
  const input = { ...(install.instead as Instead), input: "a#2@1" };
  const behind = { ...parent, channel: install.derived, derived: 7, request: 6, instead: input };
  modulation.installer.install(behind, undefined);
  await expect.poll(() => [...modulation.installed].length).toBe(1);
  raise(modulation, "3@a#2@1", 1);
  await modulation.runs.finished();
  expect(made.splice(0)).toEqual([[7, 1]]);
  modulation.interrupted();
  modulation.installer.install(parent, undefined);
  await expect.poll(() => [...modulation.installed].length).toBe(2);
  modulation.installer.install(behind, undefined);
  await expect.poll(() => [...modulation.installed].filter(({ number }) => number > 0).length).toBe(2);
  raise(modulation, "3@a", 2);
  await modulation.runs.finished();
  expect(made).toEqual([
    [2, 1],
    [7, 1],
  ]);
  await modulation.close();
});

test("PROV-2: where one that was fed over the wire comes to be behind a modulator, others that are behind it go on", async () => {
  const made: number[] = [];
  const done: string[] = [];
  const modulation = modulationIn(events => new ModulatorEnvironment({ trusted: [FIFO] }, events), {
    onEvents({ number }): undefined {
      made.push(number);
    },
    onDone: raising => done.push(raising),
    onFurther: raising => done.push(`further ${raising}`),
  });
  const parent = { ...install, modulator: modulatorTable({ source: FIFO }) };
  const input = { ...(install.instead as Instead), input: "a#2@1" };
  const wired = { ...parent, channel: install.derived, derived: 7, request: 6, instead: input };
  const other = { ...wired, derived: 8, request: 7 };
  const installed = (): number => [...modulation.installed].length;
  for (const one of [wired, parent, other]) {
    const before = installed();
    modulation.installer.install(one, undefined);
    await expect.poll(installed).toBe(before + 1);
  }
  modulation.installer.install({ ...wired, request: 8, instead: { ...input, direct: true } }, undefined);
  raise(modulation, "3@a", 1);
  await modulation.runs.finished();
  expect(made.splice(0)).toEqual([2, 8, 7]);
  // And what comes over the wire is for both.
  raise(modulation, "3@a#2@1", 1, "sync");
  await modulation.runs.finished();
  expect(made).toEqual([8, 7]);
  expect(done).toEqual(["further sync", "sync", "sync"]);
  await modulation.close();
});

test("PROV-2: a modulator that outlives the one before it is not fed by another that comes", async () => {
  const made: [derived: number, events: number][] = [];
  const modulation = modulationIn(events => new ModulatorEnvironment({ trusted: [FIFO] }, events), {
    onEvents({ number }, { count }): undefined {
      made.push([number, count]);
    },
  });
  const parent = installOf({ source: FIFO });
  const behind = { ...parent, channel: parent.derived, derived: 7, request: 6 };
  const installed = (): number => [...modulation.installed].length;
  for (const one of [parent, behind]) {
    const before = installed();
    modulation.installer.install(one, undefined);
    await expect.poll(installed).toBe(before + 1);
  }
  modulation.interrupted();
  // Only the first one is asked for again, and then removed.
  modulation.installer.install(parent, undefined);
  modulation.remove(removal(parent));
  await expect.poll(installed).toBe(1);
  const instead = { ...(parent.instead as Instead), process: 4 };
  for (const one of [parent, behind]) {
    const before = installed();
    modulation.installer.install({ ...one, instead }, undefined);
    await expect.poll(installed).toBe(before + 1);
  }
  raise(modulation, "4@a", 1);
  await modulation.runs.finished();
  expect(made).toEqual([
    [2, 1],
    [7, 1],
  ]);
  await modulation.close();
});

test("DEL-7: modulators in others' stead that nobody asks for again go after their time, however often the connection breaks", async () => {
  const leavings: NodeJS.Timeout[] = [];
  const modulation = modulationIn(events => new ModulatorEnvironment({ trusted: [FIFO] }, events), {});
  modulation.installer.install(withView, undefined);
  await expect.poll(() => [...modulation.installed].length).toBe(1);
  const [installation] = modulation.installed;
  for (let times = 0; times < 3; times++) {
    modulation.interrupted();
    leavings.push(installation?.leaving as NodeJS.Timeout);
  }
  // Its time has begun, and does not begin again.
  expect(new Set(leavings).size).toBe(1);
  expect(leavings[0]?.hasRef()).toBe(true);
  modulation.installer.install({ ...withView, derived: 9 }, undefined);
  await expect.poll(() => installation?.number).toBe(9);
  expect(installation?.leaving).toBeUndefined();
  await modulation.close();
});

test("DEL-7: a modulator whose feed is being opened when the connection breaks stays, and is taken up with its state", async () => {
  const answers: Outgoing[] = [];
  const unfed: string[] = [];
  const feeds: PromiseWithResolvers<void>[] = [];
  const modulation = modulationIn(events => new ModulatorEnvironment({ trusted: [FIFO] }, events), {
    onAnswer: answer => answers.push(answer),
    onFeed: () => {
      const feed = Promise.withResolvers<void>();
      feeds.push(feed);
      return feed.promise;
    },
    onUnfed: name => unfed.push(name),
  });
  const asked = installOf({ source: FIFO });
  modulation.installer.install(asked, undefined);
  await expect.poll(() => feeds.length).toBe(1);
  const [first] = modulation.installed;
  // At the second connection the feed is opened again when that breaks, too.
  for (let connection = 1; connection <= 2; connection++) {
    modulation.interrupted();
    feeds.at(-1)?.reject(new JechoError("CONNECTION_LOST", "the connection broke"));
    // Nobody asks for it again in the same turn.
    await new Promise(resolve => setImmediate(resolve));
    modulation.installer.install(asked, undefined);
    await expect.poll(() => feeds.length).toBe(connection + 1);
  }
  feeds.at(-1)?.resolve();
  await expect.poll(() => answers.map(({ kind }) => kind)).toEqual(["Installed"]);
  expect([...modulation.installed]).toEqual([first]);
  expect(unfed).toEqual([]);
  await modulation.close();
});
