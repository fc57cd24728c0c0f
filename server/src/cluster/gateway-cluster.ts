import type { Frame } from "@jecho/shared/internal";
import type { ClientConnection } from "../connections/client-connection.ts";
import type { ObjectHomes } from "../objects/object-homes.ts";
import { Edge, type EdgeHost } from "./edge.ts";
import type { Interconnect } from "./interconnect.ts";
import { Members } from "./members.ts";
import { RemoteClient, type RemoteSocket } from "./remote-client.ts";
import { RemoteClients, type RemoteHost } from "./remote-clients.ts";
import { baseOf } from "./routes.ts";
import type { CarrierEvents, TrunkCarrier } from "./trunk-carrier.ts";

/** The part of its gateway that a cluster uses. */
export interface ClusterHost extends EdgeHost, Omit<RemoteHost, "publish" | "brings"> {
  /**
   * A channel's home may be another gateway by now: those who use it here are to look for it there.
   *
   * @param isHome whether it is this one
   * @param isHanded whether this gateway may finish what it has taken first: nobody else has acted as the home yet
   */
  moved(isHome: (channel: string) => boolean, isHanded: boolean): void;
  /** This gateway is no member of its cluster for now: its clients are to go on at others. */
  parted(why: string): void;
  /** The gateway cannot be a member again, and has to end. */
  expelled(why: string): void;
  log(line: string): void;
}

/**
 * A gateway's part in a cluster. Each channel has one home, where all is done as at a gateway that stands alone. A client that is connected elsewhere has a socket
 * there: its edge passes on frames both ways, and what goes to many crosses once.
 */
export class GatewayCluster {
  /** Passes on what clients of this gateway say about channels of others. */
  readonly edge: Edge;
  readonly #members: Members;
  readonly #interconnect: Interconnect;
  readonly #host: ClusterHost;
  /** Clients of the other gateways. */
  readonly #remote = new Set<RemoteClients>();

  constructor(interconnect: Interconnect, host: ClusterHost) {
    this.#interconnect = interconnect;
    this.#host = host;
    const changed = (other: number, isThere: boolean): void => {
      const { size } = this.#members.present;
      const name = interconnect.nameOf(other);
      host.log(`the gateway ${name} ${isThere ? "is there" : "has gone"}: ${size} share channels`);
      this.#moved();
    };
    this.#members = new Members(interconnect.self, changed, interconnect.homes);
    this.edge = new Edge(this.#members, host);
  }

  /** Which gateway has which shared objects. */
  get objectHomes(): ObjectHomes {
    return {
      isHome: id => this.#members.isHomeOf(id),
      follow: (object, version, state) => this.edge.follow({ object, version, state }),
      unfollow: object => this.edge.unfollow(object),
    };
  }

  /** Connects to the other gateways, as soon as they are there. @throws JechoError `ARGUMENT_INVALID` where this one cannot be reached at its address */
  start(): Promise<void> {
    return this.#interconnect.start({
      came: index => this.#members.came(index),
      left: index => {
        this.#members.left(index);
        this.edge.moved(index);
      },
      opened: (index, carrier) => {
        const events = this.edge.opened(index, carrier);
        // What is read from there is asked for again.
        this.#moved();
        return this.#telling(events);
      },
      accepted: (_, carrier) => this.#accepted(carrier),
      parted: why => {
        this.#host.log(`${why}: this gateway takes no clients for now`);
        this.#host.parted(why);
      },
      rejoined: wasReplaced => {
        this.#host.log("this gateway shares channels again");
        if (wasReplaced) this.#host.moved(() => false, false);
      },
      expelled: why => this.#host.expelled(why),
    });
  }

  /** Leaves the cluster, once what clients and homes have for each other has gone out. */
  stop(): Promise<void> {
    return this.#interconnect.stop();
  }

  /** Whether clients are taken: a gateway that is no member at the moment cannot say where their channels are. */
  get isMember(): boolean {
    return this.#interconnect.isMember;
  }

  /** Whether this gateway is the home of a channel. */
  isHome(channel: string): boolean {
    return this.#members.isHomeOf(channel);
  }

  /** Number of gateways that this one can reach, with itself. */
  get present(): number {
    return this.edge.reached + 1;
  }

  /** Clients of other gateways that have something here. */
  *clients(): Generator<RemoteClient> {
    for (const clients of this.#remote) yield* clients;
  }

  /** Sends to all clients of other gateways that take this topic, but for one. */
  publish(topic: string, message: Uint8Array, from?: RemoteSocket): void {
    for (const clients of this.#remote) clients.publish(topic, message, from);
  }

  /** See `Edge.forward`. A client that was sent here by a gateway which takes another one for the home is to look for that again. */
  forward(
    connection: ClientConnection,
    frame: Frame,
    message: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    if (!(connection instanceof RemoteClient))
      return this.edge.forward(connection, frame, message, start, end);
    const opens =
      frame.kind === "OpenProducer" || (frame.kind === "OpenConsumer" && frame.feed === undefined);
    if (!opens) return false;
    if (this.#members.isHomeOf(baseOf(frame.channel))) return false;
    connection.end("CHANNEL_MOVED", "another gateway is the channel's home by now");
    return true;
  }

  #moved(): void {
    this.#host.moved(channel => this.#members.isHomeOf(channel), true);
  }

  #accepted(carrier: TrunkCarrier): CarrierEvents {
    const clients = new RemoteClients(carrier, {
      ...this.#host,
      publish: (topic, message, from) => {
        this.#host.publish(topic, message);
        this.publish(topic, message, from);
      },
    });
    this.#remote.add(clients);
    return this.#telling({
      message: message => clients.message(message),
      drained: () => clients.drained(),
      ended: () => {
        this.#remote.delete(clients);
        clients.ended();
      },
    });
  }

  /** Logs what cannot be handled, before the carrier ends for it. */
  #telling(events: CarrierEvents): CarrierEvents {
    return {
      ...events,
      message: message => {
        try {
          events.message(message);
        } catch (error) {
          this.#host.log(`a message of another gateway could not be handled: ${(error as Error).stack}`);
          throw error;
        }
      },
    };
  }
}
