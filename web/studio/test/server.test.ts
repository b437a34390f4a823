/** Place asks a real `sfumato serve`: the release of Protect goes there, byte for byte, and nothing goes anywhere else. */

import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { close, HAS_CHROMIUM, isOfTheBrowser, newPage, open, type Watched } from "../../app/test/browser.ts";
import { startService, type Address, type Truth } from "../../app/test/served.ts";
import { ROOT } from "./golden.ts";
import { idle, SOFTWARE_GL } from "./site.ts";

const PICTURE = 3;
const MAKING = 1_800_000; // the gallery is drawn and its map is made, on a machine as busy as it is
const WITHIN = 0.1; // metres, of a room of eight
let served: { readonly address: Address; readonly stop: () => Promise<void> };
let studio: ChildProcess;
let watched: Watched;

/** `sfumato studio --server` where the service lets a site ask. */
function startStudio({ site, url }: Address): Promise<ChildProcess> {
  const others = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SFUMATO_")));
  const server = new URL(url).origin;
  const process_ = spawn(join(ROOT, ".venv/bin/sfumato"), ["studio", "--server", server, "--port", new URL(site).port, "--json"], { env: others, stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((done, failed) => {
    process_.stdout.once("data", () => { done(process_); });
    process_.once("exit", () => { failed(new Error("sfumato studio ended")); });
  });
}

describe.runIf(HAS_CHROMIUM)("the studio with a server", () => {
  beforeAll(async () => {
    served = await startService();
    studio = await startStudio(served.address);
    watched = await open(...SOFTWARE_GL);
  }, MAKING);

  afterAll(async () => {
    await close(watched);
    studio.kill();
    await served.stop();
  });

  it("is told where the photograph was taken, by the bytes that were shown and no others", async () => {
    const { folder, key, site, url } = served.address;
    const { pictures } = JSON.parse(readFileSync(join(folder, "truth.json"), "utf8")) as Truth;
    const problems: string[] = [];
    const page = await newPage(await watched.browser.newContext(), problems);
    await page.goto(`${site}/#protect?epsilon=12`);
    await page.locator("#leaving-picture svg").waitFor();
    await page.setInputFiles("#file", join(folder, "pictures", `${String(PICTURE).padStart(2, "0")}.png`));
    await page.locator("#found", { hasText: "not uploaded" }).waitFor();
    await idle(page);
    await page.click("#release-button:enabled");
    await page.locator("#save-button:enabled").waitFor();
    const dump = (await page.locator("#bytes").textContent()) ?? "";
    const shown = Buffer.from(dump.split("\n").filter((line) => /^[0-9a-f]{6} {2}/.test(line)).map((line) => line.slice(8).replaceAll(" ", "")).join(""), "hex");
    expect(watched.recorder.bodies.filter((one) => !isOfTheBrowser(one))).toEqual([]); // nothing yet
    await page.click("#link-place");
    await page.fill("#place-key", key);
    await page.keyboard.press("Enter");
    await page.locator("#place-about", { hasText: "A map on the server, “gallery”" }).waitFor();
    await page.click("#place-ask:enabled");
    const verdict = page.locator("#place-verdict", { hasText: /^The server finds the camera at|^Not found/ });
    await page.locator(".place-query", { hasText: /Full dots: the \d+ keypoints that agree/ }).waitFor();
    const numbers = /at ([-\d.]+), ([-\d.]+), ([-\d.]+) in the map's unit/.exec((await verdict.textContent()) ?? "")?.slice(1).map(Number) ?? [];
    expect(Math.hypot(...numbers.map((value, axis) => value - (pictures[PICTURE]?.[axis] ?? NaN)))).toBeLessThan(WITHIN);
    const sent = watched.recorder.all.filter((one) => !isOfTheBrowser(one));
    expect(sent.filter((one) => !one.url.startsWith(url) && !one.url.startsWith(site)).map((one) => one.url)).toEqual([]);
    const bodies = sent.filter((one) => one.body.length > 0);
    expect(bodies.map((one) => new URL(one.url).origin)).toEqual([new URL(url).origin]);
    expect(bodies[0]?.body.equals(shown)).toBe(true);
    expect(problems).toEqual([]);
    await page.context().close();
  });
});
