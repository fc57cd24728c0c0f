import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, modulatorFrom, type } from "@jecho/client";
import { selfSigned, tlsFiles } from "@jecho/e2e/self-signed";
import { createGateway, type Gateway } from "@jecho/server";
import { afterEach, expect, test, vi } from "vitest";

afterEach(() => vi.unstubAllEnvs());

const read = (name: string): Promise<string> =>
  readFile(new URL(`../../deploy/${name}`, import.meta.url), "utf8");

/** A proxy: the command that is looked for, and its arguments once its recipe is written. */
interface Proxy {
  readonly command: string;
  readonly prepare: (folder: string, port: number, gateway: Gateway) => Promise<readonly string[]>;
}

const nginx: Proxy = {
  command: process.env["JECHO_NGINX"] ?? "nginx",
  prepare: async (folder, port, gateway) => {
    const { tls } = await tlsFiles(selfSigned("localhost"));
    const recipe = (await read("nginx.conf"))
      .replace("127.0.0.1:8080", `127.0.0.1:${gateway.port}`)
      .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
      .replace("viewer.example;", "localhost;")
      .replace("/etc/ssl/viewer.example.pem", tls.certFile)
      .replace("/etc/ssl/viewer.example.key", tls.keyFile);
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      name => `${name}_temp_path ${folder}/${name};`,
    );
    const file = join(folder, "all.conf");
    await writeFile(
      file,
      `daemon off; pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${paths.join(" ")}\n${recipe}\n}`,
    );
    return ["-p", folder, "-c", file, "-e", "stderr"];
  },
};

const caddy: Proxy = {
  command: process.env["JECHO_CADDY"] ?? "caddy",
  prepare: async (folder, port, gateway) => {
    const recipe = (await read("Caddyfile"))
      .replace("127.0.0.1:8080", `127.0.0.1:${gateway.port}`)
      .replace(/^viewer\.example \{/m, `https://localhost:${port} {\n\tbind 127.0.0.1`);
    const file = join(folder, "Caddyfile");
    const global = `{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\tauto_https disable_redirects\n\tstorage file_system ${folder}\n}\n`;
    await writeFile(file, global + recipe);
    return ["run", "--adapter", "caddyfile", "--config", file];
  },
};

async function freePort(): Promise<number> {
  await using gateway = await createGateway();
  return gateway.port;
}

const Reading = type("Reading", { n: "uint32" });

/** The status of an upgrade that a page of this origin asks for. */
function upgraded(port: number, origin: string): Promise<number> {
  const headers = {
    ...{ connection: "Upgrade", upgrade: "websocket", origin, host: `localhost:${port}` },
    ...{ "sec-websocket-protocol": "jecho.1", "sec-websocket-version": "13" },
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  };
  return new Promise((resolve, reject) => {
    const asked = request({ port, host: "localhost", path: "/jecho/", headers });
    asked.on("response", ({ statusCode = 0 }) => resolve(statusCode));
    asked.on("upgrade", ({ statusCode = 0 }, socket) => {
      socket.destroy();
      resolve(statusCode);
    });
    asked.on("error", reject).end();
  });
}

for (const [name, { command, prepare }] of Object.entries({ nginx, caddy })) {
  const isThere = spawnSync(command, [name === "nginx" ? "-v" : "version"]).status === 0;
  test.skipIf(!isThere)(
    `the recipe for ${name} brings pages, files and sessions to a gateway under a path, with TLS${isThere ? "" : ` (there is no ${command} here)`}`,
    async () => {
      vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
      const folder = await mkdtemp(join(tmpdir(), "jecho-"));
      const staticFolder = join(folder, "static");
      await mkdir(staticFolder);
      await writeFile(join(staticFolder, "index.html"), "<p>a page</p>");
      await using gateway = await createGateway({ path: "/jecho", staticFolder });
      const port = await freePort();
      const args = await prepare(folder, port, gateway);
      const proxy: ChildProcess = spawn(command, args, {
        stdio: ["ignore", "ignore", "inherit"],
        env: { ...process.env, HOME: folder },
      });
      try {
        const url = `https://localhost:${port}/jecho`;
        await expect
          .poll(() =>
            fetch(`${url}/healthz`)
              .then(({ status }) => status)
              .catch(() => 0),
          )
          .toBe(200);
        expect(await (await fetch(url)).text()).toBe("<p>a page</p>");
        expect(await upgraded(port, `https://localhost:${port}`)).toBe(101);
        expect(await upgraded(port, "https://evil.example")).toBe(403);
        await using producing = connect(url, { place: "here", name: "producing" });
        await using consuming = connect(url, { place: "here" });
        const producer = await producing.channel("a", Reading).produce();
        const seen: number[] = [];
        const modulator = modulatorFrom((event: typeof Reading.event) => event.n > 1);
        await consuming.channel("a", Reading).subscribe(({ n }) => seen.push(n), { modulator });
        for (const n of [1, 2, 3]) await producer.publishSync({ n });
        expect(seen).toEqual([2, 3]);
      } finally {
        const ended = once(proxy, "exit");
        proxy.kill("SIGTERM");
        await ended;
      }
    },
  );
}
