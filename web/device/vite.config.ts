import { defineConfig } from "vitest/config";

// Two entries: the page's side and the worker's. What both need is a third file that they share.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    outDir: "dist",
    assetsInlineLimit: 0, // a page with connect-src 'self' may not fetch data: addresses
    modulePreload: false,
    rolldownOptions: {
      input: { index: "src/index.ts", worker: "src/worker.ts" },
      preserveEntrySignatures: "strict",
      output: {
        format: "es",
        entryFileNames: "[name].js",
        chunkFileNames: "[name].js",
        assetFileNames: "[name][extname]",
      },
    },
  },
  worker: { format: "es" },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});
