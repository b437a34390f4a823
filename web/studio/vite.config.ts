import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import own from "./package.json" with { type: "json" };

/** The runtime of networks is 14 MB: it lies beside the page and is fetched when a network is, never built in. */
function withoutRuntime(): Plugin {
  return {
    name: "without-runtime",
    enforce: "post",
    generateBundle(_, bundle) {
      for (const name of Object.keys(bundle)) if (/ort-wasm.*\.wasm$/.test(name)) Reflect.deleteProperty(bundle, name);
    },
  };
}

export default defineConfig({
  base: "./",
  resolve: { conditions: ["source", "module", "browser", "import", "default"] },
  ssr: { resolve: { conditions: ["source", "module", "import", "default"] } }, // tests in Node
  define: { __PAGE_VERSION__: JSON.stringify(own.version) },
  plugins: [withoutRuntime()],
  worker: { format: "es", plugins: () => [withoutRuntime()] },
  build: {
    target: "es2022",
    outDir: "dist",
    assetsInlineLimit: 0, // a page with connect-src 'self' may not fetch data: addresses
    modulePreload: false,
    chunkSizeWarningLimit: 1000,
  },
  test: { include: ["test/**/*.test.ts"], environment: "node", testTimeout: 300_000, hookTimeout: 300_000, teardownTimeout: 60_000, fileParallelism: false, globalSetup: "test/global.ts" },
});
