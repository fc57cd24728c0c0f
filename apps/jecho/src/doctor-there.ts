import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { connect } from "@jecho/client";
import type { Finding } from "./doctor.ts";

interface There {
  readonly gateway?: string;
  readonly origin?: string;
  readonly token: string | undefined;
}

interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
}

const PATIENCE_MS = 5000;
/** So far a clock may be off before tokens are refused; an answer says its second only. */
const SKEW_MS = 2500;

/** Looks at a gateway, one step after the other; what fails ends it, for all behind would fail for the same reason. */
export async function gatewayThere(
  { gateway = "localhost:8080", origin, token }: There,
  tell: (finding: Finding) => void,
): Promise<void> {
  const url = new URL(/^[a-z]+:\/\//.test(gateway) ? gateway.replace(/^ws/, "http") : `http://${gateway}`);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  try {
    const addresses = await lookup(host, { all: true });
    tell({
      check: "name",
      state: "ok",
      says: `${host} is ${addresses.map(({ address }) => address).join(", ")}`,
    });
  } catch (error) {
    return tell({
      check: "name",
      state: "failure",
      says: (error as Error).message,
      todo: "the gateway's address has a name that this machine does not know",
    });
  }
  const health = await ask(url, "healthz").catch((error: NodeJS.ErrnoException) => error);
  if (health instanceof Error) return tell(unreachable(health, url));
  if (url.protocol === "https:")
    tell({ check: "tls", state: "ok", says: `${host} shows a certificate that is trusted here` });
  tell(
    health.status === 200
      ? { check: "port", state: "ok", says: `a gateway answers at ${url.href}` }
      : {
          check: "port",
          state: "failure",
          says: `${url.href} answers ${health.status}, which no gateway does`,
          todo: "look at the port and the path: a gateway behind a proxy needs --path where that passes one on",
        },
  );
  if (health.status !== 200) return;
  tell(clock(health, Date.now()));
  const upgraded = await ask(url, "", UPGRADE).catch((error: Error) => error);
  tell(upgrade(upgraded));
  if (origin !== undefined) tell(await page(url, origin));
  tell(await session(url, token));
}

const UPGRADE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": randomBytes(16).toString("base64"),
  "sec-websocket-protocol": "jecho.1, jecho.1.crc32",
};

function ask(url: URL, file: string, headers: Record<string, string> = {}): Promise<Answered> {
  const target = new URL(`${url.pathname.replace(/\/$/, "")}/${file}`, url);
  const send = url.protocol === "https:" ? tlsRequest : plainRequest;
  return new Promise((resolve, reject) => {
    const asked = send(target, { headers, signal: AbortSignal.timeout(PATIENCE_MS) });
    const answered = (answer: IncomingMessage): void => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers });
      asked.destroy();
    };
    asked.on("response", answered).on("upgrade", answered).on("error", reject).end();
  });
}

function unreachable(error: NodeJS.ErrnoException, url: URL): Finding {
  const { code = "" } = error;
  if (/CERT|SIGNED|TLS|SSL|ALTNAME|EPROTO/.test(code))
    return {
      check: "tls",
      state: "failure",
      says: `${error.message} (${code})`,
      todo:
        code === "EPROTO" || code.includes("SSL")
          ? "there is no TLS at this port: leave https:// out, or give the gateway --tls-cert and --tls-key"
          : "the certificate has to be for this name, in time, and lead to one that is trusted; NODE_EXTRA_CA_CERTS names others for Node",
    };
  const hints: Record<string, string> = {
    ECONNREFUSED:
      "nobody listens there: start jecho gateway, or look at its --host and --port; by default it serves its own machine alone",
    ECONNRESET: "what listens there ended the connection: it may speak https alone, or be no gateway",
    ETIMEDOUT: "nothing comes back: look at firewalls on the way",
    ABORT_ERR: "nothing comes back: look at firewalls on the way",
  };
  return {
    check: "port",
    state: "failure",
    says: `${url.host}: ${error.message || code}`,
    todo: hints[code] ?? "look whether this machine reaches that one",
  };
}

/** By how far this machine's clock is off that of who answered. */
export function clock({ headers }: Pick<Answered, "headers">, now: number): Finding {
  const there = Date.parse(headers.date ?? "");
  if (Number.isNaN(there))
    return { check: "clock", state: "warning", says: "the answer does not say what time it is there" };
  // It was that second for a whole one.
  const aheadMs = now < there ? there - now : Math.max(0, now - there - 1000);
  const says =
    aheadMs === 0 ? "both clocks tell the same" : `the clocks are ${(aheadMs / 1000).toFixed(1)} s apart`;
  if (aheadMs <= SKEW_MS) return { check: "clock", state: "ok", says };
  return {
    check: "clock",
    state: "warning",
    says,
    todo: "tokens may be refused, and `from: new Date(...)` is off: have both set by NTP",
  };
}

function upgrade(answer: Answered | Error): Finding {
  const check = "websocket";
  if (answer instanceof Error)
    return {
      check,
      state: "failure",
      says: answer.message,
      todo: "what is in front of the gateway has to pass on Upgrade",
    };
  const protocol = answer.headers["sec-websocket-protocol"];
  if (answer.status === 101 && protocol !== undefined)
    return { check, state: "ok", says: `it speaks ${protocol}` };
  const todo =
    "what is in front of the gateway has to pass on Upgrade, Connection and Sec-WebSocket-Protocol: see the recipes in docs/operations.md";
  return { check, state: "failure", says: `the upgrade is answered ${answer.status}`, todo };
}

async function page(url: URL, origin: string): Promise<Finding> {
  const answer = await ask(url, "", { ...UPGRADE, origin }).catch((error: Error) => error);
  if (!(answer instanceof Error) && answer.status === 101)
    return { check: "origin", state: "ok", says: `pages of ${origin} may connect` };
  const says = answer instanceof Error ? answer.message : `pages of ${origin} are answered ${answer.status}`;
  return {
    check: "origin",
    state: "failure",
    says,
    todo: `start the gateway with --origin ${origin}; for a name of its own --allow-host`,
  };
}

async function session(url: URL, token: string | undefined): Promise<Finding> {
  const address = url.protocol === "https:" ? url.href : `${url.host}${url.pathname.replace(/\/$/, "")}`;
  const tried = connect(address, {
    place: "here",
    name: "jecho doctor",
    ...(token !== undefined && { token }),
  });
  try {
    await tried.ready(AbortSignal.timeout(PATIENCE_MS));
    // Whose the token is comes before the answer, whether the right to that is there or not.
    await tried.overview("doctor").catch(() => {});
    const who =
      tried.subject === undefined || tried.subject === ""
        ? "a gateway without keys: whoever reaches it may do anything"
        : `as ${tried.subject}`;
    return { check: "session", state: "ok", says: `connected to ${tried.gateway}, ${who}` };
  } catch (error) {
    const why = tried.status.error ?? (error as Error);
    const todo =
      token === undefined
        ? "give a token: --token FILE"
        : "look whether the token is made with the gateway's key, issuer and audience";
    return { check: "session", state: "failure", says: why.message, todo };
  } finally {
    await tried.close();
  }
}
