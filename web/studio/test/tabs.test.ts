/** Place, Frontier and Ledger by their main stories, in real Chromium; nothing leaves the page. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HAS_CHROMIUM, newPage, type Watched } from "../../app/test/browser.ts";
import { fits } from "./looks.ts";
import { NO_GL, Site, SOFTWARE_GL } from "./site.ts";

const GOLDEN = join(import.meta.dirname, "place/golden");
/** SFUMATO_SHOTS=FOLDER keeps pictures. */
const SHOTS = process.env["SFUMATO_SHOTS"];

let site: Site;
let watched: Watched;

const text = async (page: Page, selector: string): Promise<string> => (await page.locator(selector).textContent()) ?? "";

/** How many different colours the stage shows. */
async function coloursOn(page: Page): Promise<number> {
  const shot = await page.locator("#place-stage").screenshot();
  return page.evaluate(async (data) => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(data)]));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    if (context === null) return 0;
    context.drawImage(image, 0, 0);
    const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
    return new Set(pixels).size;
  }, [...shot]);
}

describe.runIf(HAS_CHROMIUM)("the studio", () => {
  beforeAll(async () => {
    site = await Site.start();
    watched = await site.browser(...SOFTWARE_GL);
  });

  afterAll(async () => { await site.stop(); });

  it("shows a place in 3-D with the pose that was found, by mouse and keys", async () => {
    const page = await site.visit(watched, "#place", { bypassCSP: true });
    await page.locator("#place-verdict", { hasText: /^The server finds the camera at [-\d., ]+ in the map's unit, and nine times of ten/ }).waitFor();
    expect(await text(page, "#place-about")).toMatch(/9,363 points and 48 cameras/);
    await page.locator('#place-stage[data-drawn="9363"]:not([data-plain])').waitFor();
    expect(await coloursOn(page)).toBeGreaterThan(200);
    const before = await page.locator("#place-stage").screenshot();
    await page.focus("#place-stage");
    for (const key of ["ArrowLeft", "Shift+ArrowUp", "+"]) await page.keyboard.press(key);
    await page.waitForTimeout(400);
    expect((await page.locator("#place-stage").screenshot()).equals(before)).toBe(false);
    await page.keyboard.press("0");
    await page.waitForTimeout(400);
    await page.click("#place-through");
    expect(await page.locator("#place-through").getAttribute("aria-pressed")).toBe("true");
    await page.hover("#place-stage");
    await page.mouse.wheel(0, -200);
    await page.locator('#place-through[aria-pressed="false"]').waitFor();
    await page.click("#place-reset");
    await fits(page, "place");
    await page.emulateMedia({ colorScheme: "light" });
    await page.click("#place-near");
    await page.waitForTimeout(500);
    if (SHOTS !== undefined) await page.locator("#place-stage").screenshot({ path: join(SHOTS, "place-near.png") });
    expect(await coloursOn(page)).toBeGreaterThan(20);
    await page.context().close();
  });

  it("opens a map's folder, a COLMAP model and a PLY, and refuses what is broken in one sentence", async () => {
    const page = await site.visit(watched, "#place?example=none");
    const about = page.locator("#place-about");
    await page.setInputFiles("#place-folder", join(GOLDEN, "map"));
    await about.filter({ hasText: "A map of sfumato, “map”: 12 points and 3 cameras." }).waitFor();
    await page.setInputFiles("#place-folder", join(GOLDEN, "text"));
    await about.filter({ hasText: "A COLMAP model, “text”: 12 points and 3 cameras." }).waitFor();
    await page.setInputFiles("#place-files", join(GOLDEN, "points.ply"));
    await about.filter({ hasText: "A point cloud, “points.ply”: 12 points." }).waitFor();
    const huge = Buffer.from("ply\nformat binary_little_endian 1.0\nelement vertex 1000000000\nproperty float x\nproperty float y\nproperty float z\nend_header\n");
    await page.setInputFiles("#place-files", { name: "huge.ply", mimeType: "", buffer: huge });
    await page.locator("#problem", { hasText: "announces 1,000,000,000 points" }).waitFor();
    expect(await about.textContent()).toMatch(/points\.ply/); // what was shown stays
    await page.setInputFiles("#place-json", { name: "answer.json", mimeType: "", buffer: Buffer.from('{"localized": true') });
    await page.locator("#problem", { hasText: "not what “sfumato localize --json” writes" }).waitFor();
    await page.context().close();
  });

  it("shows the points of a map on the server that the page names", async () => {
    const page = await newPage(await watched.browser.newContext(), site.problems);
    const html = readFileSync(join(site.folder, "index.html"), "utf8").replace('name="sfumato-server" content=""', 'name="sfumato-server" content="./served/"');
    const map = { id: "m".repeat(22), name: "gallery", extractor: "sift", accepts: ["words"], dictionaries: [], num_images: 3, num_points: 9000, notice: "" };
    const asked: string[] = [];
    await page.route("**/*", async (route) => {
      const address = new URL(route.request().url());
      if (address.pathname === "/") await route.fulfill({ contentType: "text/html", body: html });
      else if (!address.pathname.startsWith("/served/")) await route.continue();
      else {
        asked.push(`${address.pathname} ${route.request().headers()["authorization"] ?? ""}`);
        const points = { points: [[0, 0, 0], [1, 0, 0], [0, 1, 1]], up: [0, 0, 1] };
        await route.fulfill({ json: address.pathname.endsWith("/points") ? points : address.pathname.endsWith("/maps") ? { maps: [map] } : map });
      }
    });
    await page.goto(`${site.url}#place?example=none`);
    await page.fill("#place-key", "sfk_secret");
    await page.keyboard.press("Enter");
    await page.locator("#place-about", { hasText: "A map on the server, “gallery”: 9,000 points." }).waitFor();
    expect(await text(page, "#place-notes")).toMatch(/The server shows 3 of 9,000 points/);
    expect(await text(page, "#place-asks")).toMatch(/Nothing to ask with yet/);
    expect(new Set(asked)).toEqual(new Set(["/served/v1/maps Bearer sfk_secret", `/served/v1/maps/${map.id} Bearer sfk_secret`, `/served/v1/maps/${map.id}/points Bearer sfk_secret`]));
    await page.context().close();
  });

  it("shows a plain picture and a sentence where WebGL is missing", async () => {
    const page = await site.visit(await site.browser(...NO_GL), "#place");
    await page.locator('#place-stage[data-plain][data-drawn="9363"]').waitFor();
    expect(await text(page, "#notice")).toMatch(/no WebGL, so the place is shown as a plain picture/);
    expect(await coloursOn(page)).toBeGreaterThan(200);
    const before = await page.locator("#place-stage").screenshot();
    await page.focus("#place-stage");
    await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(300);
    expect((await page.locator("#place-stage").screenshot()).equals(before)).toBe(false);
    await page.context().close();
  });

  it("reads the frontier point by point with keys, filters it, and keeps both in the address", async () => {
    const page = await site.visit(watched, "#frontier", { bypassCSP: true });
    expect(await text(page, "#frontier-verdict")).toMatch(/^The most private setting that finds at least 90 % of the pictures costs E = 1,293 a picture/);
    const points = page.locator(".frontier-point");
    const all = await points.count();
    await page.locator('.frontier-point[tabindex="0"]').focus();
    expect(await text(page, "#frontier-reading")).toMatch(/ε = .*Not protected: the positions/);
    await page.keyboard.press("End");
    expect(await text(page, "#frontier-reading")).toMatch(/Promise: none/);
    await page.uncheck('label:has-text("raw descriptors") input');
    expect(await points.count()).toBe(all - 1);
    await page.selectOption("#frontier-axis", "ssim");
    await page.waitForFunction(() => location.hash.includes("x=ssim") && location.hash.includes("hide=raw"));
    const again = await site.visit(watched, await page.evaluate(() => location.hash));
    expect(await again.locator('label:has-text("raw descriptors") input').isChecked()).toBe(false);
    expect(await again.locator("#frontier-axis").inputValue()).toBe("ssim");
    await again.context().close();
    await fits(page, "frontier");
    const whole = readFileSync(join(import.meta.dirname, "../public/examples/frontier/strecha.jsonl.gz"));
    await page.setInputFiles("#frontier-file", { name: "cut.jsonl.gz", mimeType: "", buffer: whole.subarray(0, 8000) });
    await page.locator("#frontier-missing", { hasText: "cut in the middle" }).waitFor();
    expect(await points.count()).toBeGreaterThan(5);
    await page.context().close();
  });

  it("says what a ledger will hold, and then what was spent, when and on what", async () => {
    const page = await site.visit(watched, "#ledger", { bypassCSP: true });
    await page.locator("#ledger-verdict", { hasText: /^Nothing was spent in this browser yet\..*Protect/ }).waitFor();
    await page.evaluate(async () => {
      const database = await new Promise<IDBDatabase>((done) => {
        const request = indexedDB.open("sfumato", 1);
        request.onsuccess = () => { done(request.result); };
      });
      const charge = (minutes: number, epsilon: number) => ({ time: Date.UTC(2026, 4, 1, 10, minutes), mechanism: "subset", epsilon, units: 500, numValues: 16_384, subsetSize: 1 });
      const answers = [{ epsilon: 8_000_000_000n, numValues: 16_384, subsetSize: 1, count: 1000 }, { epsilon: 6_000_000_000n, numValues: 16_384, subsetSize: 1, count: 500 }];
      const row = { session: "default", caps: [null, null, 20_000_000_000_000n, null], pictures: 3, units: 1500, spent: 11_000_000_000_000n, unprotected: 0, answers, history: [charge(0, 8), charge(7, 6), charge(31, 8)] };
      await new Promise((done) => {
        const writing = database.transaction("sessions", "readwrite");
        writing.objectStore("sessions").put(row);
        writing.oncomplete = done;
      });
      database.close();
    });
    await page.click("#link-frontier");
    await page.locator("#frontier-verdict").waitFor();
    await page.click("#link-ledger");
    await page.locator("#ledger-verdict", { hasText: "3 pictures spent N·ε = 11,000: the ε of all 1,500 descriptors" }).waitFor();
    await page.locator("#tab-ledger dd", { hasText: "9,000 of 20,000" }).waitFor();
    await page.locator("tbody tr").nth(2).locator("td").nth(6).filter({ hasText: /^0\.\d+$|^1\.000$/ }).waitFor();
    expect(await text(page, "tbody tr:nth-child(2)")).toMatch(/2026.*subset, 1 of 16,38450063,000/);
    await page.selectOption("#ledger-unit", "exact");
    await page.locator(".ledger-chart[aria-label*='E at δ'] .ledger-dot").nth(2).waitFor();
    const [saved] = await Promise.all([page.waitForEvent("download"), page.click("#ledger-export")]);
    await fits(page, "ledger");
    await page.setInputFiles("#ledger-file", (await saved.path()));
    await page.locator("#ledger-source", { hasText: "Shown is a file" }).waitFor();
    expect(await page.locator("tbody tr").count()).toBe(3);
    await page.setInputFiles("#ledger-file", { name: "x.json", mimeType: "", buffer: Buffer.from("{") });
    await page.locator("#problem", { hasText: "no JSON, or it is cut" }).waitFor();
    await page.context().close();
  });

  it("sent nothing anywhere, and nothing went wrong unseen", async () => {
    await Promise.resolve();
    expect(site.elsewhere()).toEqual([]);
    expect(site.carried()).toEqual([]);
    expect(site.problems).toEqual([]);
  });
});
