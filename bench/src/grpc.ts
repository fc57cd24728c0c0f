import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServiceClientConstructor } from "@grpc/grpc-js";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { PROTO } from "./objects.ts";

/** The service of Table 1: one method for each object, answered with the null object. */
export function loadSinkService(): ServiceClientConstructor {
  const folder = mkdtempSync(join(tmpdir(), "jecho-bench-"));
  try {
    const file = join(folder, "sink.proto");
    writeFileSync(file, PROTO);
    const { bench } = grpc.loadPackageDefinition(loadSync(file)) as unknown as {
      bench: { Sink: ServiceClientConstructor };
    };
    return bench.Sink;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
