/** Protect, Attack and Audit by their main stories, in a real Chromium, from a plain file server. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HAS_CHROMIUM, type Watched } from "../../app/test/browser.ts";
import { PYTHON } from "./golden.ts";
import { fits } from "./looks.ts";
import { idle, Site } from "./site.ts";

const PICTURE = join(import.meta.dirname, "../public/examples/coffee.jpg");
const READ = `import json,sys
from sfumato.core.releases import Release
r = Release.from_bytes(sys.stdin.buffer.read())
print(json.dumps([type(r).__name__, len(r), r.epsilon, r.num_words, r.reproducible, r.dictionary]))`;
const FOLDER = mkdtempSync(join(tmpdir(), "sfumato-files-"));
let site: Site;
let watched: Watched;

async function slide(page: Page, epsilon: number): Promise<void> {
  const before = await page.locator("#leaving-picture svg").getAttribute("aria-label");
  await page.locator("#epsilon").fill(String(epsilon));
  await page.waitForFunction(([value]) => document.querySelector("#guarantee")?.textContent.includes(`ε = ${value ?? ""}.`), [epsilon]);
  expect(before).not.toBeNull();
}

/** A file to be chosen by a person, with any content. */
function scratch(name: string, content: Uint8Array): string {
  writeFileSync(join(FOLDER, name), content);
  return join(FOLDER, name);
}

/** The bytes in the page's own list of them. */
async function shownBytes(page: Page): Promise<Buffer> {
  const text = (await page.locator("#bytes").textContent()) ?? "";
  const rows = text.split("\n").filter((line) => /^[0-9a-f]{6} {2}/.test(line));
  return Buffer.from(rows.map((line) => line.slice(8).replaceAll(" ", "")).join(""), "hex");
}

/** What the ledger of this browser has spent. */
function spent(page: Page): Promise<number> {
  return page.evaluate(async () => {
    if (!(await indexedDB.databases()).some(({ name }) => name === "sfumato")) return 0; // opening would make one
    const opened = indexedDB.open("sfumato");
    const database = await new Promise<IDBDatabase>((done) => { opened.onsuccess = () => { done(opened.result); }; });
    const rows = database.transaction("sessions").objectStore("sessions").getAll();
    const found = await new Promise<{ spent: bigint }[]>((done) => { rows.onsuccess = () => { done(rows.result as { spent: bigint }[]); }; });
    database.close();
    return found.reduce((sum, row) => sum + Number(row.spent) / 1e9, 0);
  });
}

describe.runIf(HAS_CHROMIUM)("the studio", () => {
  beforeAll(async () => {
    site = await Site.start();
    watched = await site.browser();
  });

  afterAll(async () => {
    expect(site.elsewhere()).toEqual([]); // nothing leaves: no other address,
    expect(site.carried()).toEqual([]); // and no request that carries anything
    expect(site.problems).toEqual([]);
    await site.stop();
    rmSync(FOLDER, { recursive: true, force: true });
  });

  it("protects the astronaut live, and charges only what may leave", async () => {
    const page = await site.visit(watched, "");
    await page.locator("#leaving-picture svg").waitFor();
    expect(await page.locator("#verdict").textContent()).toMatch(/^What leaves: 1,000 dots and a word for each, [\d,]+ bytes/);
    await slide(page, 12);
    await slide(page, 6);
    const times: number[] = [];
    for (const epsilon of [12, 6, 12, 6]) {
      await slide(page, epsilon);
      times.push(Number(await page.locator("#leaving-picture").getAttribute("data-milliseconds")));
    }
    console.log(`a new release when ε moves: ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
    expect(page.url()).toContain("epsilon=6");
    expect(await spent(page)).toBe(0); // rehearsals are not charged
    await page.click("#release-button:enabled");
    await page.locator("#save-button:enabled").waitFor();
    const bytes = await shownBytes(page);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save-button")]);
    const file = readFileSync(await download.path());
    expect(file.equals(bytes)).toBe(true);
    const read = JSON.parse(execFileSync(PYTHON, ["-c", READ], { input: file, encoding: "utf8" })) as unknown[];
    const pin = await page.locator('meta[name="sfumato-dictionary"]').getAttribute("content");
    expect(read.slice(0, 5)).toEqual(["WordRelease", 1000, 6, 1024, false]);
    expect(read[5]).not.toBe(pin); // a level has a fingerprint of its own
    expect(await spent(page)).toBe(6000);
    await slide(page, 7);
    expect(await page.locator("#save-button").isDisabled()).toBe(true); // what was drawn is not of these settings
    expect(await spent(page)).toBe(6000);
    await page.context().close();
  });

  it("hides a region by keys alone, and remembers it in another tab", async () => {
    const page = await site.visit(watched, "#protect?keypoints=20000");
    await page.locator("#leaving-picture svg").waitFor();
    const count = async (): Promise<number> => Number(/([\d,]+) dots/.exec((await page.locator("#verdict").textContent()) ?? "")?.[1]?.replaceAll(",", ""));
    const before = await count();
    await page.getByRole("button", { name: "Hide a region" }).press("Enter");
    await page.waitForFunction(([wanted]) => !document.querySelector("#verdict")?.textContent.includes(wanted ?? ""), [before.toLocaleString("en")]);
    const hidden = await count();
    expect(hidden).toBeLessThan(before);
    await page.click("#link-audit");
    await page.locator("#audit-button").waitFor();
    await page.click("#link-protect");
    await page.locator("#leaving-picture svg").waitFor();
    expect(await page.locator(".box").count()).toBe(1);
    expect(await count()).toBe(hidden);
    await page.context().close();
  });

  it("opens a photograph that is dropped anywhere on the page, and never leaves the page for it", async () => {
    const page = await site.visit(watched, "#protect");
    await page.locator("#leaving-picture svg").waitFor();
    const drop = (count: number): Promise<void> =>
      page.evaluate(async (times) => {
        const picture = await (await fetch("./examples/coffee.jpg")).blob();
        const dropped = new DataTransfer();
        for (let i = 0; i < times; i++) dropped.items.add(new File([picture], `${i}.jpg`, { type: "image/jpeg" }));
        const event = new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true });
        document.querySelector("footer")?.dispatchEvent(event);
        if (!event.defaultPrevented) throw new Error("the browser would open the file");
      }, count);
    await drop(2);
    await page.waitForFunction(() => !location.hash.includes("astronaut") && document.querySelector(".example-button[aria-pressed=true]") === null);
    expect(await page.locator("#notice").textContent()).toContain("2 were dropped, the first is taken");
    await page.click("#link-audit");
    await page.locator("#audit-button").waitFor();
    await drop(1);
    expect(await page.locator("#problem").textContent()).toBe("This part of the studio opens no files; nothing was opened.");
    await page.context().close();
  });

  it("takes an own photograph, and says what is wrong with others in one sentence", async () => {
    const page = await site.visit(watched, "#protect");
    await page.setInputFiles("#file", PICTURE);
    await page.locator("#found", { hasText: "not uploaded" }).waitFor();
    await idle(page);
    const cut = scratch("cut.jpg", readFileSync(PICTURE).subarray(0, 300));
    for (const [path, sentence] of [[cut, /cannot read the file as a picture/], [scratch("no.jpg", Buffer.from("no picture")), /not a picture/], [scratch("empty.png", Buffer.alloc(0)), /empty/]] as const) {
      await page.setInputFiles("#file", path);
      await page.locator("#problem", { hasText: sentence }).waitFor();
    }
    expect(await page.locator("#verdict").textContent()).toMatch(/^What leaves/); // the last good one is still shown
    await page.context().close();
  });

  it("shows the usual settings where an address makes no sense, and says so", async () => {
    const page = await site.visit(watched, "#protect?epsilon=NaN&keypoints=-1&words=7&photo=../../etc&density=2");
    expect(await page.locator("#notice").textContent()).toMatch(/epsilon must be a number from 1 to 12; keypoints must be one of/);
    expect(await page.inputValue("#epsilon")).toBe("8");
    expect(await page.inputValue("#density")).toBe("2");
    await page.goto(`${site.url}#nowhere`);
    await page.locator("#lost", { hasText: "names no part of the studio" }).waitFor();
    expect(await page.locator("#link-protect").getAttribute("aria-current")).toBe("page");
    await page.context().close();
  });

  it("paints as a server would, and saves a report that loads nothing", async () => {
    const page = await site.visit(watched, "#attack?photo=chelsea&epsilon=12");
    await page.locator('.shot[data-looks="all"] #shot-lifted').waitFor();
    await page.locator("#verdict", { hasText: /Without protection .* the painting shows the scene/ }).waitFor();
    const milliseconds = await page.locator(".shot:has(#shot-words)").getAttribute("data-milliseconds");
    console.log(`a painting: ${milliseconds ?? ""} ms on this machine, as busy as it is`);
    await page.locator("#compare").press("End");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#report-button")]);
    const report = readFileSync(await download.path(), "utf8");
    expect(report).toMatch(/default-src 'none'; img-src data:/);
    expect(report.match(/src="data:image\/jpeg/g)).toHaveLength(4);
    expect(report).not.toMatch(/(src|href)="(?!data:)/);
    expect(report).toContain("subspaces, m = 4</td><td>none"); // lifting never shows an ε
    await page.locator("#epsilon").fill("6");
    await page.locator("#verdict", { hasText: "ε = 6 per keypoint" }).waitFor();
    await page.setInputFiles("#file", PICTURE);
    await page.locator(".shot", { hasText: "yours; it stays in this tab" }).waitFor();
    await page.locator("[data-looks] #shot-raw").waitFor();
    expect(await page.locator("#shot-lifted").isVisible()).toBe(false);
    await page.context().close();
  });

  it.each(["protect", "attack", "audit"])("can be read by everybody, on a desktop and a phone: %s", async (tab) => {
    const page = await site.visit(watched, `#${tab}`);
    await page.locator({ protect: "#leaving-picture svg", attack: "[data-looks] #shot-words", audit: "#audit-button" }[tab] ?? "body").waitFor();
    await fits(page, tab);
    await page.context().close();
  });

  it("lets a slow network be cancelled, and asks again when told to", async () => {
    const page = await site.visit(watched, "#protect");
    await page.route("**/networks/sift-raw.onnx", async (route) => {
      await new Promise((done) => setTimeout(done, 1500));
      await route.continue().catch(() => undefined);
    });
    await page.click("#link-attack");
    await page.locator("#progress-label", { hasText: "networks" }).waitFor();
    await page.click("#cancel");
    await page.locator("#verdict", { hasText: "Nothing is painted" }).waitFor();
    await page.unroute("**/networks/sift-raw.onnx");
    await page.getByRole("button", { name: "Load the networks" }).click();
    await page.locator('.shot[data-looks] #shot-words').waitFor();
    await page.context().close();
  });

  it("says in one sentence that a copy has no runtime; the rest works", async () => {
    const context = await watched.browser.newContext();
    await context.route("**/runtime/**", (route) => route.fulfill({ status: 404, body: "" }));
    const page = await context.newPage();
    page.setDefaultTimeout(300_000);
    await page.goto(`${site.url}#attack`);
    await page.locator("#problem", { hasText: /runtime\/ort.wasm.gz is not beside this page/ }).waitFor();
    await page.click("#link-protect");
    await page.locator("#leaving-picture svg").waitFor();
    await context.close();
  });

  it("audits the sampler of releases, and catches a broken one", async () => {
    const page = await site.visit(watched, "#audit?draws=200000");
    await page.click("#audit-button");
    await page.locator('#verdict[data-done="true"]').waitFor();
    expect(await page.locator("#verdict").textContent()).toMatch(/^Consistent, after 200,000 draws/);
    await page.selectOption("#kind", "second-chance");
    await page.click("#audit-button");
    await page.locator('#verdict[data-broken="true"]').waitFor();
    expect(await page.locator("#why").textContent()).toMatch(/leave the true word out/);
    expect(page.url()).toContain("kind=second-chance");
    await page.context().close();
  });
});
