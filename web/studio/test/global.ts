/** One static studio for all tests in the browser: built from the source, with everything that lies beside it. */

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { HAS_CHROMIUM } from "../../app/test/browser.ts";
import { PYTHON } from "./golden.ts";

const WRITE = `import sys; from pathlib import Path
from sfumato.studio import files
files.PAGES, files.RUNTIME = Path(sys.argv[1]), Path(sys.argv[2])
files.write_studio(Path(sys.argv[3]))`;

export default async function setup(): Promise<() => void> {
  if (!HAS_CHROMIUM) return () => undefined;
  process.env["NODE_ENV"] = "production"; // vitest says "test", and vite would build for that
  const own = mkdtempSync(join(tmpdir(), "sfumato-studio-"));
  const [pages, runtime, folder] = ["pages", "runtime", "static"].map((name) => join(own, name)) as [string, string, string];
  await build({ root: join(import.meta.dirname, ".."), logLevel: "error", build: { outDir: pages, emptyOutDir: true } });
  mkdirSync(runtime);
  const wasm = join(dirname(createRequire(import.meta.url).resolve("onnxruntime-web")), "ort-wasm-simd-threaded.wasm");
  writeFileSync(join(runtime, "ort.wasm.gz"), gzipSync(readFileSync(wasm), { level: 1 }));
  execFileSync(PYTHON, ["-c", WRITE, pages, runtime, folder], { stdio: ["ignore", "ignore", "inherit"] });
  process.env["SFUMATO_STUDIO"] = folder;
  return () => { rmSync(own, { recursive: true, force: true }); };
}
