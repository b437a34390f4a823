/** The pages that the Python package carries are the ones that this source makes, and the first view is small. */

import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { build } from "vite";
import { afterAll, beforeAll, expect, it } from "vitest";

const CARRIED = join(import.meta.dirname, "../../../src/sfumato/studio/pages");
const FIRST_VIEW = 1_000_000;
let made: string;

function filesOf(folder: string): Map<string, Buffer> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = names.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort();
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path))]));
}

beforeAll(async () => {
  process.env["NODE_ENV"] = "production"; // vitest says "test", and vite would build for that
  made = mkdtempSync(join(tmpdir(), "sfumato-pages-"));
  await build({ root: join(import.meta.dirname, ".."), logLevel: "error", build: { outDir: made, emptyOutDir: true } });
});

afterAll(() => { rmSync(made, { recursive: true, force: true }); });

it("is carried as it is built; run `npm run page -w studio` after a change", () => {
  const [here, there] = [filesOf(made), filesOf(CARRIED)];
  expect([...there.keys()]).toEqual([...here.keys()]);
  for (const [name, bytes] of here) expect(there.get(name)?.equals(bytes), name).toBe(true);
});

it("shows its first view with less than 1 MB, before words and networks are loaded", () => {
  // All code but the drawing in 3-D, which Place loads alone, and the examples of the chooser: more than the first view needs.
  const counted = [...filesOf(made)].filter(([name]) => /\.(js|wasm|css|html|svg)$|^examples\/\w+\.jpg$/.test(name) && !name.includes("/scene-"));
  const total = counted.reduce((sum, [name, bytes]) => sum + (name.endsWith(".jpg") ? bytes.length : gzipSync(bytes, { level: 9 }).length), 0);
  console.log(`the first view: at most ${total} bytes compressed`);
  expect(total).toBeLessThan(FIRST_VIEW);
});

it("carries the runtime of networks that npm has, to the byte; run `bash scripts/studio build` after an update", () => {
  const npm = readFileSync(join(dirname(createRequire(import.meta.url).resolve("onnxruntime-web")), "ort-wasm-simd-threaded.wasm"));
  expect(gunzipSync(readFileSync(join(CARRIED, "../runtime/ort.wasm.gz"))).equals(npm)).toBe(true);
});

it("carries no file that is larger than it must be: no runtime of networks, no words", () => {
  for (const [name, bytes] of filesOf(made)) expect(bytes.length, name).toBeLessThan(1_000_000);
});
