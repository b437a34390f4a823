/** One static studio for all tests in the browser: built from the source, with everything that lies beside it. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import { HAS_CHROMIUM } from "../../app/test/browser.ts";
import { PYTHON } from "./golden.ts";

const WRITE = `import sys; from pathlib import Path
from sfumato.studio import files
files.PAGES = Path(sys.argv[1])
files.write_studio(Path(sys.argv[2]))`;

export default async function setup(): Promise<() => void> {
  if (!HAS_CHROMIUM || process.env["SFUMATO_STUDIO"] !== undefined) return () => undefined; // a folder to look at, site/studio for instance
  process.env["NODE_ENV"] = "production"; // vitest says "test", and vite would build for that
  const own = mkdtempSync(join(tmpdir(), "sfumato-studio-"));
  const [pages, folder] = ["pages", "static"].map((name) => join(own, name)) as [string, string];
  await build({ root: join(import.meta.dirname, ".."), logLevel: "error", build: { outDir: pages, emptyOutDir: true } });
  execFileSync(PYTHON, ["-c", WRITE, pages, folder], { stdio: ["ignore", "ignore", "inherit"] });
  process.env["SFUMATO_STUDIO"] = folder;
  return () => { rmSync(own, { recursive: true, force: true }); };
}
