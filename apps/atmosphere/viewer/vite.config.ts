import { readFileSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** Files that a page needs to start, besides itself. Its workers are bundled apart from it, so they are known by their names. */
const STARTS = /(^|\/)(index|producing|shared-worker|land-110m)-[^/]+\.(js|css|json)$/;
const PUBLIC = ["/", "/favicon.svg", "/manifest.webmanifest", "/icon-192.png"];

/** Writes the service worker with the names of what it keeps. */
const serviceWorker: Plugin = {
  name: "service-worker",
  apply: "build",
  generateBundle(_, bundle) {
    const files = new Set(Object.keys(bundle).filter(name => STARTS.test(name)));
    for (const name of files) {
      const part = bundle[name];
      if (part?.type === "chunk") for (const imported of part.imports) files.add(imported);
    }
    const source = readFileSync(new URL("src/service-worker.js", import.meta.url), "utf8");
    const list = JSON.stringify([...PUBLIC, ...Array.from(files, name => `/${name}`)]);
    this.emitFile({
      type: "asset",
      fileName: "service-worker.js",
      source: source.replace("FILES = []", `FILES = ${list}`),
    });
  },
};

export default defineConfig({
  plugins: [react(), serviceWorker],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    // Coastlines are fetched beside the page, never inlined into it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
