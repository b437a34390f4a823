/** The examples of docs/browser.md, as they stand there: a page on a site of its own, and Node. */

import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { close, HAS_CHROMIUM, newPage, open, type Watched } from "./browser.ts";
import { Served } from "./served.ts";
import { distance } from "./visit.ts";

const DOCS = join(import.meta.dirname, "../../../docs/browser.md");
const DEVICE = join(import.meta.dirname, "../../device");
const TYPES: Record<string, string> = { ".js": "text/javascript", ".wasm": "application/wasm" };

const PYTHON = join(import.meta.dirname, "../../../.venv/bin/python");
const PIXELS = "import sys; from PIL import Image; sys.stdout.buffer.write(Image.open(sys.argv[1]).convert('RGBA').tobytes())";

/** The page of the docs, or their program for Node, with the address of the test's service in it. */
function example(language: "html" | "js", address: string): string {
  const [block] = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(readFileSync(DOCS, "utf8"))?.slice(1) ?? [];
  if (block?.includes("https://maps.example") !== true) throw new Error("docs/browser.md has no example");
  return block.replace("https://maps.example", address);
}

describe.runIf(HAS_CHROMIUM)("a page of somebody else's", () => {
  let served: Served;
  let watched: Watched;
  let site: Server;
  let folder: string;

  beforeAll(async () => {
    served = new Served();
    folder = mkdtempSync(join(tmpdir(), "sfumato-device-"));
    await build({ root: DEVICE, logLevel: "error", build: { outDir: folder, emptyOutDir: true } });
    site = createServer((request, response) => {
      const path = new URL(request.url ?? "/", "http://x").pathname;
      const file = join(folder, path.replace("/sfumato/", ""));
      if (path === "/") response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(example("html", served.url));
      else if (!existsSync(file)) response.writeHead(404).end();
      else response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "text/plain" }).end(readFileSync(file));
    });
    await new Promise<void>((done) => { site.listen(Number(new URL(served.site).port), "127.0.0.1", done); });
    watched = await open();
  });

  afterAll(async () => {
    await close(watched);
    site.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("localizes with the ten lines of the docs, once the service allows its site", async () => {
    const problems: string[] = [];
    const page = await newPage(await watched.browser.newContext(), problems);
    await page.goto(served.site);
    await page.fill("#key", served.key);
    await page.setInputFiles("#photo", served.picture(3));
    const told = page.locator("#answer", { hasText: /\d/ });
    await told.waitFor();
    const center = ((await told.textContent()) ?? "").match(/-?\d+\.\d+/g)?.map(Number) ?? null;
    expect(distance(center, served.truth.pictures[3])).toBeLessThan(0.05);
    expect(problems.filter((text) => !text.includes("404"))).toEqual([]);
  });

  it("localizes from Node with the lines of the docs", async () => {
    writeFileSync(join(folder, "pixels.rgba"), execFileSync(PYTHON, ["-c", PIXELS, served.picture(3)], { maxBuffer: 1 << 24 }));
    writeFileSync(join(folder, "ask.mjs"), example("js", served.url).replace("./sfumato/", "./"));
    const { stdout } = await promisify(execFile)(process.execPath, ["ask.mjs"], { cwd: folder, env: { ...process.env, KEY: served.key } });
    expect(distance(stdout.match(/-?\d+\.\d+/g)?.map(Number) ?? null, served.truth.pictures[3])).toBeLessThan(0.05);
  });

  it("is not answered where the service does not name the site", async () => {
    const page = await newPage(await watched.browser.newContext(), []);
    await page.goto(served.site.replace("localhost", "127.0.0.1")); // another origin, the same page
    await page.fill("#key", served.key);
    const failed = page.waitForEvent("pageerror");
    await page.setInputFiles("#photo", served.picture(3));
    expect((await failed).message).toMatch(/does not allow this page/);
    expect(await page.locator("#answer").textContent()).toBe("");
  });
});
