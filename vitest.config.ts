import { defineConfig } from "vitest/config";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic" } },
  test: {
    include: ["{scripts,shared,modulators,client,server,apps/*,bench}/test/**/*.test.{ts,tsx}"],
    // Processes, not threads: sandboxes and gateways load native code, and one that dies must not take others along.
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20_000,
    // A condition is waited for as long as a loaded machine may need; it costs nothing where it holds sooner.
    expect: { poll: { timeout: 10_000, interval: 20 } },
    hookTimeout: 10_000,
    teardownTimeout: 10_000,
  },
});
