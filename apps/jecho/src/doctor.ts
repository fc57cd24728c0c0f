import { type Command, InvalidArgumentError, Option } from "commander";
import { modulatorsHere, type SelfTest } from "./doctor-here.ts";
import { gatewayThere } from "./doctor-there.ts";
import { readToken } from "./meet.ts";
import { counted, type GatewayAnswering, type Screen, withGateway } from "./screen.ts";

/** One thing that was looked at. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "warning" | "failure";
  readonly says: string;
  /** Advice on what to do about it. */
  readonly todo?: string;
}

interface DoctorOptions extends GatewayAnswering {
  readonly origin?: string;
}

/** Oldest Node that it runs on. */
const LEAST_NODE = [22, 13] as const;

/** `jecho doctor` @param start starts a gateway for a moment */
export function addDoctor(program: Command, screen: Screen, start: SelfTest): void {
  const command = program
    .command("doctor")
    .summary("finds out why something does not work, and says what to do")
    .description(
      "Looks at this machine (Node, the gateway's server, modulators) and at a gateway: its name, port, TLS, what is in front of it, origins, the clock and the token. Exit status 1 if something fails.",
    )
    .addOption(
      new Option(
        "--origin <ORIGIN>",
        "of pages that are to connect there, as http://localhost:5173",
      ).argParser(originOf),
    )
    .option("--json", "each finding as a line of JSON");
  withGateway(command, "that it is to have").action(async (options: DoctorOptions) => {
    let failures = 0;
    const tell = (finding: Finding): void => {
      if (finding.state === "failure") failures++;
      screen.out.write(`${options.json === true ? JSON.stringify(finding) : text(finding)}\n`);
    };
    tell(nodeHere());
    await modulatorsHere(start, tell);
    const token = options.token === undefined ? undefined : await readToken(options.token);
    if (token !== undefined) tell(tokenHere(token, Date.now()));
    await gatewayThere({ ...options, token }, tell);
    if (failures > 0) process.exitCode = 1;
  });
}

/** Reads the origin of a page, as browsers say it. */
function originOf(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : "null";
  if (origin === "null") throw new InvalidArgumentError("An origin is like http://localhost:5173.");
  return origin;
}

const MARKS = { ok: "ok      ", warning: "warning ", failure: "FAILURE " } as const;

function text({ check, state, says, todo }: Finding): string {
  return `${MARKS[state]} ${check.padEnd(10)} ${says}${todo === undefined ? "" : `\n${" ".repeat(20)}${todo}`}`;
}

function nodeHere(): Finding {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const isOld = major < LEAST_NODE[0] || (major === LEAST_NODE[0] && minor < LEAST_NODE[1]);
  const says = `Node ${node}, ${process.platform} ${process.arch}`;
  return isOld
    ? { check: "node", state: "failure", says, todo: `install Node ${LEAST_NODE.join(".")} or newer` }
    : { check: "node", state: "ok", says };
}

/** The claims of a token; only a gateway can say whether it takes it. */
export function tokenHere(token: string, now: number): Finding {
  const check = "token";
  try {
    const { sub, exp, can } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as {
      sub?: string;
      exp?: number;
      can?: string[];
    };
    if (sub === undefined || exp === undefined)
      return { check, state: "failure", says: "it lacks sub or exp", todo: "make one by jecho token" };
    const says = `of ${sub}, until ${new Date(exp * 1000).toISOString()}, with ${counted(can?.length ?? 0, "right")}`;
    if (exp * 1000 < now)
      return {
        check,
        state: "failure",
        says,
        todo: "it is too old: make a newer one, or look at this machine's clock",
      };
    if ((can?.length ?? 0) === 0)
      return {
        check,
        state: "warning",
        says,
        todo: "it allows nothing: its rights are the claim `can`, a list",
      };
    return { check, state: "ok", says };
  } catch {
    return {
      check,
      state: "failure",
      says: "it is no JSON Web Token",
      todo: "the file holds one line, as jecho token prints it",
    };
  }
}
