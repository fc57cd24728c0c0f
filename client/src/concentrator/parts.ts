import type { Environment, TierEvents } from "@jecho/modulators/internal";
import { createEnvironment as environmentHere, loadsOverNetwork } from "#platform";
import type { ConcentratorOptions } from "../options/concentrator-options.ts";
import type { CreateEnvironment } from "../platform/face.ts";
import { EndpointIndex } from "./endpoints/endpoint-index.ts";
import { Openings } from "./endpoints/openings.ts";
import { GatewayQuestions } from "./gateway-questions.ts";
import { Flow } from "./incoming/flow.ts";
import { Reception, type ReceptionEvents } from "./incoming/reception.ts";
import { Routes } from "./incoming/routes.ts";
import { SynchronousEvents } from "./incoming/synchronous.ts";
import { LateProduction } from "./late-production.ts";
import { Link, type LinkEvents } from "./link.ts";
import { ObjectCopies } from "./object-copies.ts";
import type { RaisedEvents } from "./outgoing/outgoing.ts";
import type { Production } from "./production-parts.ts";
import { ToldSchemas } from "./told-schemas.ts";

/** Listener for notices that concern several parts. */
interface PartsListener extends Omit<LinkEvents, "onReady">, Pick<ReceptionEvents, "onNamed"> {
  /** The connection takes events again. */
  onRoom(): void;
  /** Called when all consumers that were expected after a broken connection are back, or will not come. */
  onAllBack(): void;
}

export type Parts = ReturnType<typeof assemble>;

/** Parts and options for the parts that produce events. */
interface ProductionNeeds {
  readonly index: EndpointIndex;
  readonly link: Link;
  readonly routes: Routes;
  readonly reception: Reception;
  readonly synchronous: SynchronousEvents;
  readonly openings: Openings;
  /** Schemas of the types that the gateway has told of. */
  readonly schemas: ToldSchemas;
  /** Events that producers of this process raise. */
  readonly events: RaisedEvents;
  /** Most modulators that may run here for consumers of this process' producers. */
  readonly most: number;
  readonly isTraced: boolean;
  readonly createEnvironment: (events: TierEvents) => Environment | Promise<Environment>;
  /** Called when all consumers that were expected after a broken connection are back, or will not come. */
  onAllBack(): void;
}

/** Makes the parts that produce events. */
export type CreateProduction = (needs: ProductionNeeds) => Production;

/** Functions with which a place loads what a page loads late. */
export interface PlaceWays {
  /** Loads the parts that produce events. @returns a promise where that takes time */
  loadProduction(): CreateProduction | Promise<CreateProduction>;
  /** Makes the environment of modulators. Default: that of the platform. */
  readonly createEnvironment?: CreateEnvironment;
}

/** Makes and connects the parts of a concentrator. */
export function assemble(
  options: ConcentratorOptions,
  events: RaisedEvents,
  { loadProduction, createEnvironment = environmentHere }: PlaceWays,
  { onNamed, onRoom, onAllBack, ...ofLink }: PartsListener,
) {
  const { most: wanted = Number.POSITIVE_INFINITY, ...running } = options.modulators;
  const most = running.allow === "none" ? 0 : wanted;
  let request = 0;
  const nextRequest = (): number => ++request;
  const schemas = new ToldSchemas();
  const create = (createProduction: CreateProduction): Production =>
    createProduction({
      ...parts,
      events,
      most,
      isTraced: options.isTraced,
      createEnvironment: events => createEnvironment(running, events),
      onAllBack,
    });
  const production = new LateProduction(
    () => {
      const loading = loadProduction();
      return loading instanceof Promise ? loading.then(create) : create(loading);
    },
    act => link.together(act),
  );
  const link = new Link(options, {
    ...ofLink,
    onReady: ready => {
      production.parts?.modulation.runs.flow(ready);
      if (ready) onRoom();
    },
  });
  const synchronous = new SynchronousEvents();
  const routes = new Routes();
  const reception = new Reception(routes, synchronous, {
    onNamed,
    onHandled: ({ channel, seq }, i, { consumers, failed, message }) =>
      link.send({ kind: "Ack", channel, seq: seq + i, consumers, failed, message }),
  });
  const flow = new Flow(routes, link, {
    onRest: consumer => openings.rest(consumer),
    onAwake: consumer => openings.wake(consumer),
  });
  const index = new EndpointIndex(routes, flow);
  const openings: Openings = new Openings(
    { modulates: most > 0, instance: randomName() },
    { index, link, flow, synchronous, production, nextRequest },
  );
  const copies = new ObjectCopies(index, link);
  const questions = new GatewayQuestions(link, openings, options, nextRequest);
  const parts = {
    index,
    link,
    flow,
    synchronous,
    routes,
    reception,
    openings,
    copies,
    questions,
    schemas,
    production,
  };
  if (!loadsOverNetwork) production.load();
  return parts;
}

/** 128 random bits. */
function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), bits => bits.toString(36)).join("-");
}
