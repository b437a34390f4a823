import { defineConfig } from "vitest/config";

// index.js is the page's side, worker.js the worker's, device.wasm what both may run. No name has a
// mark of its content: who embeds them knows what to serve.
const names = { entryFileNames: "[name].js", chunkFileNames: "[name].js", assetFileNames: "[name][extname]" };

export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    outDir: "dist",
    assetsInlineLimit: 0, // a page with connect-src 'self' may not fetch data: addresses
    modulePreload: false,
    rolldownOptions: {
      input: { index: "src/index.ts" },
      preserveEntrySignatures: "strict",
      output: { format: "es", ...names },
    },
  },
  worker: { format: "es", rolldownOptions: { output: names } },
  test: { include: ["test/**/*.test.ts"], environment: "node", testTimeout: 300_000 },
});
