import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const IMAGE = "jecho-test";

function run(command: string, args: readonly string[], cwd = root): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  expect(status, `${error?.message ?? ""}${stdout}${stderr}`).toBe(0);
  return stdout.trim();
}

const docker = (...args: string[]): string => run("docker", args);
const { status: isMissing } = spawnSync("docker", ["info"]);

test.skipIf(isMissing !== 0)(
  `the Dockerfile makes an image whose gateway is ready, is not root, and keeps its history${isMissing === 0 ? "" : " (no docker runs here)"}`,
  { timeout: 900_000 },
  async () => {
    const context = mkdtempSync(join(tmpdir(), "jecho-image-"));
    let container = "";
    try {
      run(process.execPath, ["scripts/packages.ts", join(context, "dist")]);
      docker("build", "--tag", IMAGE, "--file", join(root, "deploy/Dockerfile"), context);
      container = docker("run", "--detach", "--publish", "127.0.0.1::9090", IMAGE, "--open");
      const address = docker("port", container, "9090/tcp");
      const ready = () =>
        fetch(`http://${address}/readyz`).then(
          ({ status }) => status,
          () => 0,
        );
      await expect.poll(ready, { timeout: 60_000 }).toBe(200);
      expect(docker("exec", container, "id", "-u", "-n")).toBe("node");
      expect(docker("exec", container, "ls", "/data")).toContain("history.db");
      docker("stop", container);
      expect(docker("inspect", "--format", "{{.State.ExitCode}}", container)).toBe("0");
    } finally {
      if (container !== "") docker("rm", "--force", container);
      rmSync(context, { recursive: true, force: true });
    }
  },
);
