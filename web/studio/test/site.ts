/** The built studio on a plain file server, and Chromium to open it; all its traffic is recorded. */

import { createReadStream, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { build } from "vite";
import { close, isOfTheBrowser, newPage, open, type Watched } from "../../app/test/browser.ts";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".svg": "image/svg+xml", ".jpg": "image/jpeg", ".json": "application/json",
};
/** WebGL without a graphics card: Chromium's own software drawing. */
export const SOFTWARE_GL = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
export const NO_GL = ["--disable-3d-apis"];

export class Site {
  readonly url: string;
  readonly #server: Server;
  readonly folder: string;
  readonly #opened: Watched[] = [];
  /** Errors of all pages. */
  readonly problems: string[] = [];

  private constructor(server: Server, folder: string, under: string) {
    this.#server = server;
    this.folder = folder;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${under}`;
  }

  /** Build the page and serve it, below a path. SFUMATO_STUDIO names a folder that has been built already. */
  static async start(under = "/"): Promise<Site> {
    const built = process.env["SFUMATO_STUDIO"];
    const folder = built ?? mkdtempSync(join(tmpdir(), "sfumato-studio-"));
    if (built === undefined) await build({ root: join(import.meta.dirname, ".."), logLevel: "error", build: { outDir: folder, emptyOutDir: true } });
    const server = createServer((request, response) => {
      const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://x").pathname));
      const file = join(folder, path === under ? "index.html" : path.slice(under.length));
      if (!path.startsWith(under) || !existsSync(file) || !statSync(file).isFile()) response.writeHead(404).end();
      else createReadStream(file).pipe(response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }));
    });
    await new Promise<void>((done) => { server.listen(0, "127.0.0.1", done); });
    return new Site(server, folder, under);
  }

  async browser(...flags: string[]): Promise<Watched> {
    const watched = await open(...flags);
    this.#opened.push(watched);
    return watched;
  }

  /** A page at this tab, when it has nothing to do any more. */
  async visit(watched: Watched, hash: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await newPage(await watched.browser.newContext(options), this.problems);
    await page.goto(this.url + hash);
    await page.locator(`main .tab > *`).first().waitFor();
    await idle(page);
    return page;
  }

  /** Addresses that were asked and are not this page's own. */
  elsewhere(): string[] {
    return this.#opened.flatMap(({ recorder }) => recorder.all).filter((one) => !isOfTheBrowser(one) && !one.url.startsWith(this.url)).map(({ url }) => url);
  }

  /** Requests that carried something. */
  carried(): string[] {
    return this.#opened.flatMap(({ recorder }) => recorder.bodies).filter((one) => !isOfTheBrowser(one)).map(({ url }) => url);
  }

  async stop(): Promise<void> {
    for (const watched of this.#opened) await close(watched);
    this.#server.closeAllConnections();
    this.#server.close();
    if (process.env["SFUMATO_STUDIO"] === undefined) rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Nothing is being worked on. */
export async function idle(page: Page): Promise<void> {
  await page.locator("body:not([aria-busy])").waitFor();
}
