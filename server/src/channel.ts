import type { EventsFrame } from "@jecho/shared/internal";
import type { Connection } from "./connection.ts";

/** What a channel and a derived channel have in common at the gateway: a number, a topic, and the count of events. */
export class Channel {
  readonly number: number;
  readonly topic: string;
  /** Which numbering this is; a channel that is forgotten and comes back has another one. */
  readonly epoch: number;
  /** Sequence number that the next event gets. The first event of an epoch is 1. */
  nextSeq = 1;
  consumers = 0;

  constructor(number: number, epoch: number) {
    this.number = number;
    this.topic = `channel ${number}`;
    this.epoch = epoch;
  }

  /** Tells a producer's concentrator how many consumers there are in other processes; it knows its own. */
  tellDemand(connection: Connection): void {
    const consumers = this.consumers - connection.countOf(this.topic);
    connection.send({ kind: "Demand", channel: this.number, consumers });
  }

  /** Stamps the run where it lies and sends the very same bytes to everyone who listens, but not back to its sender. */
  fanOut(frame: EventsFrame, from: Connection): void {
    frame.stamp(this.epoch, this.nextSeq);
    this.nextSeq += frame.count;
    if (this.consumers > 0) from.publish(this.topic, frame.raw());
  }
}
