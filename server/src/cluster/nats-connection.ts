import { readFile } from "node:fs/promises";
import { JechoError } from "@jecho/shared";
import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  nkeyAuthenticator,
} from "@nats-io/transport-node";

/** Gateways that find and reach one another by NATS. */
export interface NatsClusterOptions {
  /** Addresses of its servers, `HOST:PORT`, with `tls://` before them where they want TLS. */
  readonly servers: readonly string[];
  /** The first part of all subjects, and of the bucket's name, for clusters that share a NATS: letters, digits, `_` and `-`; "jecho" by default. */
  readonly prefix?: string;
  /** A file with what NATS wants to know of whoever connects: a `.creds` file, the seed of an nkey, or `USER:PASSWORD`; none by default. */
  readonly credentialsFile?: string;
  /** A file with the certificates (PEM) that those of the servers lead to; the usual ones by default. */
  readonly caFile?: string;
  /** Files with the certificate, and its private key, that the servers want of whoever connects; none by default. */
  readonly certFile?: string;
  readonly keyFile?: string;
  /** Number of the servers that keep the list of members, 1, 3 or 5: as many may be lost as is less than half of it. 1 by default. */
  readonly replicas?: number;
}

const CONNECT_MS = 5000;
/** Time until a connection that broke is made again, with a random part. */
const AGAIN_MS = 200;
/** A server that is silent for twice as long is left. */
const PING_MS = 1500;

/** @throws JechoError `ARGUMENT_INVALID` where it cannot be had */
export async function connectNats(options: NatsClusterOptions): Promise<NatsConnection> {
  const { servers, caFile, certFile, keyFile, credentialsFile } = options;
  if (!Array.isArray(servers) || servers.length === 0)
    throw new JechoError("ARGUMENT_INVALID", "cluster: the address of at least one NATS server is needed");
  try {
    const tls = {
      ...(caFile !== undefined && { caFile }),
      ...(certFile !== undefined && { certFile }),
      ...(keyFile !== undefined && { keyFile }),
    };
    const wantsTls = Object.keys(tls).length > 0 || servers.some(server => server.startsWith("tls://"));
    return await connect({
      servers: [...servers],
      name: "jecho gateway",
      timeout: CONNECT_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: AGAIN_MS,
      reconnectJitter: AGAIN_MS,
      pingInterval: PING_MS,
      maxPingOut: 2,
      // A restart of the servers with other accounts is no reason to give up.
      ignoreAuthErrorAbort: true,
      ...(wantsTls && { tls }),
      ...(credentialsFile !== undefined && credentials(await readFile(credentialsFile, "utf8"))),
    });
  } catch (error) {
    throw new JechoError(
      "ARGUMENT_INVALID",
      `cluster: NATS cannot be reached at ${servers.join(", ")}: ${(error as Error).message}`,
    );
  }
}

/** The options that a file with credentials stands for, by its form. */
function credentials(text: string): Pick<ConnectionOptions, "authenticator" | "user" | "pass"> {
  const bytes = new TextEncoder().encode(text.trim());
  if (text.includes("-----BEGIN")) return { authenticator: credsAuthenticator(bytes) as Authenticator };
  const [user = "", ...rest] = text.trim().split(":");
  if (rest.length === 0) return { authenticator: nkeyAuthenticator(bytes) as Authenticator };
  return { user, pass: rest.join(":") };
}
