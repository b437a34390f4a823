import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import own from "./package.json" with { type: "json" };

const KEPT = /\.(?:html|js|css|wasm|png|svg|webmanifest)$/;

/** Tells the service worker which files the page has, and a version that changes with any of them. */
function listFiles(): Plugin {
  return {
    name: "list-files",
    enforce: "post",
    generateBundle(_, bundle) {
      const worker = bundle["sw.js"];
      if (worker?.type !== "chunk") throw new Error("the service worker was not built");
      const publicFolder = join(import.meta.dirname, "public");
      const digest = createHash("sha256");
      const names: string[] = [];
      for (const [name, file] of Object.entries(bundle).sort(([one], [other]) => (one < other ? -1 : 1))) {
        digest.update(name).update(file.type === "chunk" ? file.code : file.source);
        if (name !== "sw.js" && KEPT.test(name)) names.push(name);
      }
      for (const name of readdirSync(publicFolder).sort()) {
        digest.update(name).update(readFileSync(join(publicFolder, name)));
        names.push(name);
      }
      const files = names.map((name) => (name === "index.html" ? "./" : `./${name}`));
      worker.code = worker.code
        .replaceAll("__VERSION__", JSON.stringify(digest.digest("hex").slice(0, 16)))
        .replaceAll("__FILES__", JSON.stringify(files));
    },
  };
}

export default defineConfig({
  base: "./",
  resolve: { conditions: ["source", "module", "browser", "import", "default"] },
  define: { __PAGE_VERSION__: JSON.stringify(own.version) },
  plugins: [listFiles()],
  worker: { format: "es" },
  build: {
    target: "es2022",
    outDir: "dist",
    assetsInlineLimit: 0, // a page with connect-src 'self' may not fetch data: addresses
    modulePreload: false,
    rolldownOptions: {
      input: { index: "index.html", sw: "src/sw.ts" },
      output: {
        entryFileNames: (chunk) => (chunk.name === "sw" ? "sw.js" : "assets/[name]-[hash].js"),
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  test: { include: ["test/**/*.test.ts"], environment: "node", testTimeout: 900_000, hookTimeout: 900_000, teardownTimeout: 120_000, fileParallelism: false, globalSetup: "test/global.ts" },
});
