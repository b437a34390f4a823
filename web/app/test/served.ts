/** A real `sfumato serve` with the gallery's map, for tests that ask it from a browser. */

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");
const BIN = join(ROOT, ".venv/bin");

/** Where the service is, its key for asking, and the folder that world.py wrote. */
export interface Address {
  readonly url: string;
  readonly key: string;
  readonly folder: string;
  /** A web site that the service allows to ask; nobody listens there yet. */
  readonly site: string;
}

declare module "vitest" {
  interface ProvidedContext {
    address: Address | null;
  }
}

/** Where the pictures of the tests were taken, in metres. */
export interface Truth {
  readonly pictures: readonly (readonly number[])[];
  readonly walk: readonly (readonly number[])[];
  /** Brightness of 32 × 24 squares of each frame of the walk. */
  readonly thumbnails: readonly (readonly number[])[];
}

/** The service that runs for all tests. */
export class Served {
  readonly url: string;
  readonly key: string;
  readonly folder: string;
  readonly site: string;
  readonly truth: Truth;

  constructor() {
    const address = inject("address");
    if (address === null) throw new Error("the service was not started");
    ({ url: this.url, key: this.key, folder: this.folder, site: this.site } = address);
    this.truth = JSON.parse(readFileSync(join(this.folder, "truth.json"), "utf8")) as Truth;
  }

  picture(number: number): string {
    return join(this.folder, "pictures", `${String(number).padStart(2, "0")}.png`);
  }

  odd(name: string): string {
    return join(this.folder, "odd", name);
  }
}

/** Make the world (SFUMATO_WORLD names a folder that has one already), serve it, upload its map. */
export async function startService(): Promise<{ address: Address; stop: () => Promise<void> }> {
  const own = mkdtempSync(join(tmpdir(), "sfumato-web-"));
  const folder = process.env["SFUMATO_WORLD"] ?? own;
  if (folder === own) run("python", join(import.meta.dirname, "world.py"), folder);
  const store = join(own, "store");
  for (const role of ["owner", "query"]) {
    run("sfumato", "keys", "create", "--store", store, "--tenant", "museum", "--role", role, "-o", join(own, role));
  }
  const site = `http://localhost:${await freePort()}`;
  // Every SFUMATO_… variable is a setting of the service; those of the tests are none.
  const others = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SFUMATO_")));
  const options = ["--store", store, "--port", "0", "--allow-origin", site, "--json"];
  const server = spawn(join(BIN, "sfumato"), ["serve", ...options], {
    env: { ...others, SFUMATO_PLAN_IMAGES: "0", SFUMATO_RATE_PER_MINUTE: "0" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const url = await ready(server);
  run("sfumato", "map", "push", join(folder, "map"), "--server", url, "--name", "gallery", "--key-file", join(own, "owner"));
  const key = readFileSync(join(own, "query"), "utf8").trim();
  const stop = async (): Promise<void> => {
    const ended = new Promise((done) => server.once("exit", done));
    server.kill("SIGTERM");
    await ended;
    rmSync(own, { recursive: true, force: true });
  };
  return { address: { url, key, folder, site }, stop };
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => { done(port); });
    });
  });
}

function run(command: string, ...words: string[]): void {
  execFileSync(join(BIN, command), words, { stdio: ["ignore", "ignore", "inherit"] });
}

function ready(server: ChildProcess): Promise<string> {
  return new Promise((done, failed) => {
    let said = "";
    server.stdout?.on("data", (piece: Buffer) => {
      said += piece.toString();
      if (said.includes("\n")) done((JSON.parse(said.split("\n")[0] ?? "") as { url: string }).url);
    });
    server.once("exit", () => { failed(new Error(`sfumato serve ended: ${said}`)); });
  });
}
