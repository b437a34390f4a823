/** A real `sfumato serve` with the gallery's map, for tests that ask it from a browser. */

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../../..");
const BIN = process.env["SFUMATO_BIN"] ?? join(ROOT, ".venv/bin");

/** Where the pictures of the tests were taken, in metres. */
export interface Truth {
  readonly pictures: readonly (readonly number[])[];
  readonly walk: readonly (readonly number[])[];
  /** Brightness of 32 × 24 squares of each frame of the walk. */
  readonly thumbnails: readonly (readonly number[])[];
}

export class Served {
  readonly folder: string;
  readonly url: string;
  readonly key: string;
  readonly truth: Truth;
  readonly #process: ChildProcess;

  private constructor(folder: string, url: string, key: string, process: ChildProcess) {
    this.folder = folder;
    this.url = url;
    this.key = key;
    this.#process = process;
    this.truth = JSON.parse(readFileSync(join(folder, "truth.json"), "utf8")) as Truth;
  }

  /** Make the world (SFUMATO_WORLD names one that is there already), serve it, upload its map. */
  static async start(...options: string[]): Promise<Served> {
    const own = mkdtempSync(join(tmpdir(), "sfumato-web-"));
    const folder = process.env["SFUMATO_WORLD"] ?? own;
    if (folder === own) run("python", join(import.meta.dirname, "world.py"), folder);
    const store = join(own, "store");
    for (const role of ["owner", "query"]) {
      run("sfumato", "keys", "create", "--store", store, "--tenant", "museum", "--role", role, "-o", join(own, role));
    }
    // Every SFUMATO_… variable is a setting of the service; those of the tests are none.
    const others = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SFUMATO_")));
    const server = spawn(join(BIN, "sfumato"), ["serve", "--store", store, "--port", "0", "--json", ...options], {
      env: { ...others, SFUMATO_PLAN_IMAGES: "0", SFUMATO_RATE_PER_MINUTE: "0" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const url = await ready(server);
    run("sfumato", "map", "push", join(folder, "map"), "--server", url, "--name", "gallery", "--key-file", join(own, "owner"));
    const served = new Served(folder, url, readFileSync(join(own, "query"), "utf8").trim(), server);
    process.once("exit", () => { rmSync(own, { recursive: true, force: true }); });
    return served;
  }

  picture(number: number): string {
    return join(this.folder, "pictures", `${String(number).padStart(2, "0")}.png`);
  }

  stop(): void {
    this.#process.kill("SIGTERM");
  }
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
