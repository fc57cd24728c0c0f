/** The face for our own packages, besides `mod.ts`: what gateways of a cluster decide by, for a simulation of very many. */

export { ANYBODY } from "./access/subject.ts";
export { Edge } from "./cluster/edge.ts";
export { Members } from "./cluster/members.ts";
export { NatsWays } from "./cluster/nats-ways.ts";
export { TrunkTopics } from "./cluster/remote-client.ts";
export { sendTrunk, TO_EDGE, words } from "./cluster/trunk.ts";
export type { CarrierEvents, TrunkCarrier } from "./cluster/trunk-carrier.ts";
export { ClientConnection } from "./connections/client-connection.ts";
export { WaitingTotal } from "./delivery/waiting.ts";
