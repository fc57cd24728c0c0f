import { connect, modulatorFrom, type } from "@jecho/client";

const Tick = type("Tick", { n: "uint32" });

/** Subscribes plainly, and with a modulator that runs in the page where the producer runs none; the title says what has come. */
export function start() {
  const session = connect(location.host);
  const channel = session.channel("ticks", Tick);
  const seen = { all: [], odd: [] };
  const see =
    list =>
    ({ n }) => {
      list.push(n);
      document.title = JSON.stringify(seen);
    };
  void channel.subscribe(see(seen.all));
  void channel.subscribe(see(seen.odd), { modulator: modulatorFrom(({ n }) => n % 2 === 1) });
  return session;
}
