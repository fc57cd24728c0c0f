import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway } from "@jecho/server";
import { expect, test } from "@playwright/test";

const TILE = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>';

/** Another site, which says nothing of who may use its files: it has a map's tile, and a page that embeds the one at `embedded`. */
async function otherSite() {
  const site = { url: "", embedded: "" };
  const server = createServer(({ url }, response) => {
    const [type, body] =
      url === "/tile.svg"
        ? ["image/svg+xml", TILE]
        : ["text/html", `<!doctype html><iframe src="${site.embedded}"></iframe>`];
    response.setHeader("content-type", type).end(body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  site.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(site, {
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}

test("a page shows another site's map tiles, and stands in another site's page, where its content policy lets it", async ({
  page,
}) => {
  await using site = await otherSite();
  const folder = await mkdtemp(join(tmpdir(), "jecho-page-"));
  try {
    await writeFile(join(folder, "index.html"), `<!doctype html><img src="${site.url}/tile.svg">`);
    const contentPolicy = `default-src 'self'; img-src ${site.url}; frame-ancestors ${site.url}`;
    await using usual = await createGateway({ staticFolder: folder });
    await using own = await createGateway({ staticFolder: folder, contentPolicy });
    const widthOf = async (url: string): Promise<number | undefined> => {
      site.embedded = url;
      await page.goto(site.url);
      const [, frame] = page.frames();
      return frame?.evaluate(() => document.querySelector("img")?.naturalWidth).catch(() => undefined);
    };
    expect(await widthOf(`${usual.url}/`)).toBeUndefined();
    expect(await widthOf(`${own.url}/`)).toBe(8);
    // Its page may share memory with its workers all the same.
    await page.goto(`${own.url}/`);
    expect(await page.evaluate(() => globalThis.crossOriginIsolated)).toBe(true);
  } finally {
    await rm(folder, { recursive: true });
  }
});
