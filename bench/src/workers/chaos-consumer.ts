// A consumer that notes what it sees, and where it is, for the process that checks it.
import { type Consumer, connect, type EventPlace, type Missed, type Session } from "@jecho/client";
import { CHANNEL, ChaosEvent, EVEN, MISSED, type Seen } from "../chaos/event.ts";
import { serve } from "../worker.ts";

let seen: Seen[] = [];
let session: Session | undefined;
let consumer: Consumer<typeof ChaosEvent.event> | undefined;

const note = ({ producer, life, n }: typeof ChaosEvent.event): void => {
  seen.push([producer, life, n]);
};
const onMissed = ({ events }: Missed): void => {
  seen.push([MISSED, events, 0]);
};
const backoff = { firstMs: 20, mostMs: 200 };

serve({
  async start({ port, even, place }: { port: number; even: boolean; place: EventPlace | undefined }) {
    session = connect(`127.0.0.1:${port}`, { backoff });
    consumer = await session.channel(CHANNEL, ChaosEvent).subscribe(note, {
      onMissed,
      ...(even && { modulator: EVEN }),
      ...(place !== undefined && { from: place }),
    });
  },
  /** A token for another process. */
  handover: async () => (await session?.handover())?.token,
  async takeOver({ port, token }: { port: number; token: string }) {
    session = connect(`127.0.0.1:${port}`, { backoff, handover: token });
    const [subscription] = (await session.inheritance()).subscriptions;
    consumer = await subscription?.takeOver(note, { type: ChaosEvent, onMissed });
  },
  /** What was seen since the last time, and the place behind it. */
  take() {
    const taken = { seen, place: consumer?.place };
    seen = [];
    return taken;
  },
});
