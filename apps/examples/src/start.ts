// npm start -w apps/examples -- NAME [HOST:PORT]; without an address it starts a gateway for itself.
import { connect, type Session } from "@jecho/client";
import { createGateway } from "@jecho/server";
import { EXAMPLES } from "./mod.ts";

const [name = "", address] = process.argv.slice(2);
const example = Object.hasOwn(EXAMPLES, name) ? EXAMPLES[name] : undefined;
if (example === undefined) {
  if (name !== "") console.error(`there is no example "${name}"; these are:`);
  for (const [known, { about }] of Object.entries(EXAMPLES)) console.log(`${known.padEnd(22)} ${about}`);
  console.log(
    "\nnpm start -w apps/examples -- NAME [HOST:PORT]    runs one, with a gateway of its own unless it is told of one",
  );
  process.exit(name === "" ? 0 : 2);
}
console.log(example.about);
const gateway = address === undefined ? await createGateway() : undefined;
const sessions = ["producing", "consuming"].map(side =>
  connect(address ?? (gateway?.address as string), {
    name: `${name}, ${side}`,
    // A machine that is busy with something else is not to make a modulator start anew: these tell what each has made so far.
    modulators: { limits: { callMs: 1000 } },
  }),
) as [Session, Session];
// Where no gateway answers, the sessions say so, and keep trying.
await Promise.all(sessions.map(session => session.ready()));
await example.run(...sessions, line => console.log(line));
for (const session of sessions) await session.close();
await gateway?.close();
