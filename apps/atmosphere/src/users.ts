import { CHANNELS } from "./types.ts";

/** A user of the page, with a token that is good for a day. */
export interface User {
  readonly subject: string;
  /** Rights of the user, in words. */
  readonly may: string;
  readonly token: string;
}

/** How keys and tokens are made. */
interface TokenMaker<K> {
  readonly createTokenKeys: () => Promise<{ readonly signing: K; readonly checking: K }>;
  readonly createToken: (
    keys: K,
    claims: { readonly subject: string; readonly can: readonly string[] },
  ) => Promise<string>;
}

/** Keys made for one run of the application, and what is made with them. */
export interface Users<K> {
  /** Keys that the gateway checks tokens with. */
  readonly checking: K;
  /** The simulation's token. */
  readonly simulation: string;
  readonly users: readonly User[];
}

/** The subject of the simulation's token: the channels that it publishes on are its own. */
export const SIMULATION = "simulation";

const LOOKS = [
  "subscribe:atmosphere/**",
  "modulate:atmosphere/**",
  "history:atmosphere/**",
  "handover:atmosphere/**",
  "share:*",
];
// The channel is the first one's who steers: the right to own it lets all the others steer beside that one.
const STEERS = [...LOOKS, `publish:${CHANNELS.steering}`, `own:${CHANNELS.steering}`];
const OPERATES = [...STEERS, "kick:*"];

/** New keys, and tokens for three users who may do different things. */
export async function makeUsers<K>({ createTokenKeys, createToken }: TokenMaker<K>): Promise<Users<K>> {
  const { signing, checking } = await createTokenKeys();
  const token = (subject: string, can: readonly string[]): Promise<string> =>
    createToken(signing, { subject, can });
  const user = async (subject: string, may: string, can: readonly string[]): Promise<User> => {
    return { subject, may, token: await token(subject, can) };
  };
  return {
    checking,
    simulation: await token(SIMULATION, [
      `publish:${CHANNELS.ozone}`,
      `publish:${CHANNELS.status}`,
      `subscribe:${CHANNELS.steering}`,
    ]),
    users: [
      await user("viewer", "looks on", LOOKS),
      await user("steerer", "looks on and steers", STEERS),
      await user("operator", "steers, and may end the connections of others", OPERATES),
    ],
  };
}
