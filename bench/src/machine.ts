import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, cpus, release, totalmem, type } from "node:os";

/** Machine that a run was made on, for whoever reads its numbers later. */
export interface Machine {
  readonly date: string;
  readonly system: string;
  readonly processors: string;
  readonly memoryGb: number;
  readonly versions: Readonly<Record<string, string>>;
}

const PEERS = ["ws", "uWebSockets.js", "socket.io", "@grpc/grpc-js", "msgpackr", "protobufjs"] as const;

export function describeMachine(date: Date): Machine {
  const [processor] = cpus();
  return {
    date: date.toISOString(),
    system: `${type()} ${release().split(".", 2).join(".")} ${arch()}`,
    processors: `${cpus().length} x ${processor?.model ?? "unknown"}`,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    versions: {
      node: process.versions.node,
      v8: process.versions.v8,
      ...Object.fromEntries(PEERS.map(name => [name, versionOf(name)])),
    },
  };
}

/** Version of an installed package. Many do not export their package.json, so it is looked for above their main file. */
function versionOf(name: string): string {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  for (const folder of folders) {
    try {
      return (JSON.parse(readFileSync(`${folder}/${name}/package.json`, "utf8")) as { version: string })
        .version;
    } catch {
      // Not in this folder.
    }
  }
  return "unknown";
}
