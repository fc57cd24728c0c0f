import { typeFromFbs } from "@jecho/shared/fbs";
import { expect, test } from "vitest";
import { type Install, installed, RawConsumer, RawProducer, schema, start } from "./installing-rig.ts";

const typeOf = (name: string, of = "uint32") => typeFromFbs(`table ${name} { n: ${of}; } root_type ${name};`);
const [reading, other] = [typeOf("Reading").schema, typeOf("Other", "string").schema];

/** The answer to an installation with these declarations: what its output is of, and what it was written for. */
const declares = ({ request, derived }: Install, makes: Uint8Array, reads: Uint8Array) =>
  ({ ...installed(request, derived), schema: makes, reads }) as const;

test.each<[what: string, lie: (install: Install) => ReturnType<typeof declares>]>([
  ["was written for another type", install => declares(install, schema, other)],
  ["makes another type", install => declares(install, other, reading)],
])("MOE-7: what one producer declares does not speak for others: that the modulator %s", async (_, lie) => {
  await using gateway = await start();
  using honest = await RawProducer.open(gateway, { schema: reading });
  using liar = await RawProducer.open(gateway, { schema: reading });
  using consumer = await RawConsumer.open(gateway, { as: "hot" });
  liar.say(lie(await liar.install()));
  await liar.isAlive();
  honest.say(declares(await honest.install(), schema, reading));
  await consumer.opened();
  consumer.subscribe({ request: 2, channel: "a#hot", modulator: undefined, schema: reading });
  await consumer.opened();
  using writer = await RawProducer.open(gateway, { channel: "a#hot", schema: reading });
  expect(writer.frames.filter(({ kind }) => kind === "Fault")).toEqual([]);
});

test("MOE-7: the types that producers declare have a bound, and who goes beyond it is left out alone", async () => {
  await using gateway = await start({ typesPerChannel: 2 });
  using honest = await RawProducer.open(gateway, { schema: reading });
  using consumer = await RawConsumer.open(gateway);
  honest.say(declares(await honest.install(), reading, reading));
  const { channel } = await consumer.opened();
  for (const name of ["A", "B", "C"]) {
    using liar = await RawProducer.open(gateway, { schema: reading });
    const { schema } = typeOf(name);
    liar.say(declares(await liar.install(), schema, schema));
    await liar.isAlive();
    if (name === "A") continue;
    expect(await liar.next("Fault")).toMatchObject({ message: expect.stringContaining("at most 2 types") });
  }
  await consumer.hears(honest, channel);
});
