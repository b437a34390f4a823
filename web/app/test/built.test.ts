/** The page that the Python package carries is the one that this source makes. */

import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { afterAll, beforeAll, expect, it } from "vitest";

const CARRIED = join(import.meta.dirname, "../../../src/sfumato/service/page");
const MOST_COMPRESSED = 300_000; // code and WebAssembly, without the dictionary
let made: string;

function filesOf(folder: string): Map<string, Buffer> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = names.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort();
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path))]));
}

beforeAll(async () => {
  process.env["NODE_ENV"] = "production"; // vitest says "test", and vite would build for that
  made = mkdtempSync(join(tmpdir(), "sfumato-page-"));
  await build({ root: join(import.meta.dirname, ".."), logLevel: "error", build: { outDir: made, emptyOutDir: true } });
});

afterAll(() => { rmSync(made, { recursive: true, force: true }); });

it("is carried as it is built; run `npm run page -w app` after a change", () => {
  const [here, there] = [filesOf(made), filesOf(CARRIED)];
  expect([...there.keys()]).toEqual([...here.keys()]);
  for (const [name, bytes] of here) expect(there.get(name)?.equals(bytes), name).toBe(true);
});

it("is small: code and WebAssembly in less than 300 kB", () => {
  const code = [...filesOf(made)].filter(([name]) => /\.(js|wasm|css|html)$/.test(name));
  const total = code.reduce((sum, [, bytes]) => sum + gzipSync(bytes, { level: 9 }).length, 0);
  console.log(`the page: ${total} bytes compressed`);
  expect(total).toBeLessThan(MOST_COMPRESSED);
});
