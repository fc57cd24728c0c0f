import { defineConfig } from "vite";

export default defineConfig({
  // The program that runs filters in a page, which few pages need, is a large file of its own.
  build: { target: "es2023", chunkSizeWarningLimit: 1200 },
  // The connection's worker, too, loads that only where it needs it.
  worker: { format: "es" },
});
