import { hash } from "node:crypto";
import type {
  ChannelOverview,
  DerivedOverview,
  ModulatorUse,
  Overview,
  OverviewPlace,
} from "@jecho/shared/internal";
import { patternOf } from "../access/rights.ts";
import type { Subject } from "../access/subject.ts";
import { MOST_CHANNELS } from "../cluster/answers.ts";
import type { Connection } from "../connections/connection.ts";
import type { Channel } from "../delivery/channel.ts";
import type { ChannelManager } from "./channel-manager.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import type { NameServer } from "./name-server.ts";
import type { ModulatorStanding } from "./placements.ts";

/** Most processes that are asked what modulators use there, for one overview. */
const MOST_ASKED = 256;
/** Time that answers are waited for, and that they count: operators who look more often get the same. */
const ANSWER_MS = 1000;
const FRESH_MS = 500;

type Uses = readonly ModulatorUse[];

/** Shows operators what runs at the gateway: the counts of its channels, and what modulators say that they use. */
export class Overviews {
  readonly #names: NameServer;
  readonly #connections: () => number;
  /** The newest answers of processes, which are told as they come: they concern nobody's events. */
  readonly #answers = new WeakMap<Connection, { readonly askedAt: number; readonly uses: Promise<Uses> }>();

  constructor(names: NameServer, connections: () => number) {
    this.#names = names;
    this.#connections = connections;
  }

  /**
   * The channels that match a pattern, of those that this subject may look at.
   *
   * @throws JechoError `ARGUMENT_INVALID` where it is no pattern
   */
  async of(pattern: string, subject: Subject): Promise<Omit<Overview, "kind" | "request">> {
    const wanted = patternOf(pattern);
    const managers: ChannelManager[] = [];
    let [channels, matching] = [0, 0];
    for (const manager of this.#names.managers()) {
      channels++;
      if (!wanted.test(manager.name) || !subject.may("inspect", manager.name)) continue;
      matching++;
      if (managers.length < MOST_CHANNELS) managers.push(manager);
    }
    const uses = await this.#usesOf(managers);
    const of = managers.map(manager => channelOverview(manager, uses));
    return { connections: this.#connections(), channels, matching, of };
  }

  /** Asks processes for the resources that these channels' modulators use there, by process. */
  async #usesOf(managers: readonly ChannelManager[]): Promise<ReadonlyMap<Connection, Uses>> {
    const asked = new Set<Connection>();
    for (const { derivations } of managers)
      for (const { placements } of derivations)
        for (const { maker } of placements.standings())
          if (maker?.isOpen === true && asked.size < MOST_ASKED) asked.add(maker);
    const answers = Array.from(asked, async maker => [maker, await this.#ask(maker)] as const);
    return new Map(await Promise.all(answers));
  }

  #ask(maker: Connection): Promise<Uses> {
    const now = performance.now();
    const known = this.#answers.get(maker);
    if (known !== undefined && now - known.askedAt < FRESH_MS) return known.uses;
    const uses = new Promise<Uses>(resolve => {
      const stop = maker.ask(
        request => ({ kind: "Survey", request }),
        answer => {
          clearTimeout(late);
          resolve("kind" in answer && answer.kind === "Surveyed" ? answer.uses : []);
        },
      );
      const late = setTimeout(() => {
        stop();
        resolve([]);
      }, ANSWER_MS);
    });
    this.#answers.set(maker, { askedAt: now, uses });
    return uses;
  }
}

function channelOverview(manager: ChannelManager, uses: ReadonlyMap<Connection, Uses>): ChannelOverview {
  const { name, channel, types, producers, derivations } = manager;
  return {
    name,
    epoch: channel.epoch,
    types: Array.from(types.present(), type => type.name),
    producers: producers.size,
    blocked: channel.listeners.isBlocking,
    ...countsOf(channel),
    derived: Array.from(derivations, derived => derivedOverview(derived, uses)),
  };
}

function derivedOverview(derived: DerivedChannel, uses: ReadonlyMap<Connection, Uses>): DerivedOverview {
  const { manager, channel, parent, modulator, by, placements } = derived;
  return {
    number: channel.number,
    behind: parent?.channel.number ?? 0,
    names: manager.derivations.namesOf(derived),
    by,
    digest: hash("sha256", modulator.source),
    ...countsOf(channel),
    places: Array.from(placements.standings(), standing =>
      placeOf(standing, channel.number, uses.get(standing.maker as Connection)),
    ),
  };
}

function countsOf({ demand, nextSeq, bytes, dropped, history }: Channel) {
  return {
    consumers: demand.consumers,
    events: BigInt(nextSeq - 1),
    bytes: BigInt(bytes),
    dropped: BigInt(dropped),
    historyBytes: BigInt(history?.log.bytes ?? 0),
  };
}

function placeOf(
  { maker, producing, placement, processes }: ModulatorStanding,
  derived: number,
  uses: Uses | undefined,
): OverviewPlace {
  const process = maker === producing ? 0 : producing.process;
  const use = uses?.find(one => one.derived === derived && one.process === process);
  const { cpuMs = 0, events = 0n, dropped = 0n, restarts = 0 } = use ?? {};
  return { ...placement, processes, cpuMs, events, dropped, restarts };
}
