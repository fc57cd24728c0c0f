import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    // Coastlines are fetched beside the page, never inlined into it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
