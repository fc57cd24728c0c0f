import type { Frame } from "@jecho/shared/internal";

/** For the gateway that the client is connected to. */
export const HERE = Symbol("here");
/** For that one and others: all that the client has something at, or, for an operator, all. */
export const EVERYWHERE = Symbol("everywhere");

/** The gateways that a client's frame is for: the home of the channel or shared object with this name, or the one that gave this number. */
export type FrameRoute = string | number | typeof HERE | typeof EVERYWHERE;

/** Finds a frame's route by what it is about. */
export function routeOf(frame: Frame): FrameRoute {
  switch (frame.kind) {
    case "Events":
    case "Position":
    case "GiveUp":
    case "Ack":
      return frame.channel;
    // The home that asked for it feeds a modulator.
    case "OpenConsumer":
      return frame.feed?.channel ?? baseOf(frame.channel);
    case "OpenProducer":
    case "WantTypes":
    case "Departed":
      return baseOf(frame.channel);
    case "CloseEndpoint":
      return frame.endpoint;
    case "Flow":
    case "Removed":
    case "Impaired":
    case "Tiered":
      return frame.derived;
    case "Installed":
    case "Refused":
    case "Noted":
    case "Surveyed":
      return frame.request;
    case "OpenObject":
    case "ObjectUpdate":
      return frame.object;
    case "PullObject":
      return frame.derived === 0 ? frame.copy : frame.derived;
    case "ObjectWrite":
    case "ObjectTaken":
      return frame.copy;
    case "Token":
    case "Ping":
    case "AskHandover":
    case "Yielded":
    case "Kick":
    case "WantOverview":
      return EVERYWHERE;
    default:
      return HERE;
  }
}

/** The name of the channel that this one is derived of, or its own. */
export function baseOf(channel: string): string {
  return channel.split("#", 1)[0] as string;
}
