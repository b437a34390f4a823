/** What people and servers do wrong: one sentence each, and nothing leaves. */

import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { close, HAS_CHROMIUM, newPage, open, type Watched } from "./browser.ts";
import { Served } from "./served.ts";
import { chooseFile, connect, distance, idle, protect, send, shownBytes, visit } from "./visit.ts";

let served: Served;
let watched: Watched;
let context: BrowserContext;

/** The sentence in the page's place for errors. */
async function problemOf(page: Page): Promise<string> {
  await page.locator("#problem:not([hidden])").waitFor();
  return (await page.locator("#problem").textContent()) ?? "";
}

describe.runIf(HAS_CHROMIUM)("the page, when something is wrong", () => {
  beforeAll(async () => {
    served = new Served();
    watched = await open();
  });

  afterEach(async () => {
    watched.recorder.isUp = true;
    watched.recorder.tamper = null;
    await context.close();
  });

  afterAll(async () => {
    await close(watched);
  });

  it("says what is wrong with a file, and how to go on without a camera", async () => {
    context = await watched.browser.newContext({ permissions: [] });
    const page = await visit(context, served);
    for (const [name, words] of [
      ["text.jpg", /not a picture .* whatever its name says/],
      ["phone.heic", /cannot open HEIC photographs; save it as JPEG/],
      ["cut.jpg", /damaged, too large/],
      ["empty.png", /file is empty/],
    ] as const) {
      await page.setInputFiles("#file", served.odd(name));
      await page.locator("#problem", { hasText: words }).waitFor();
      expect(await page.locator("#protect-button").isDisabled()).toBe(true);
    }
    await page.click("#camera-button");
    await page.locator("#problem", { hasText: /camera.*choose a file/ }).waitFor();
    expect(await page.locator("#video").isVisible()).toBe(false);
    await chooseFile(page, served.odd("blank.png"));
    expect(await page.locator("#found").textContent()).toContain("there is nothing to send");
    expect(await page.locator("#protect-button").isDisabled()).toBe(true);
  });

  it("makes a photograph of 100 megapixels smaller, and finds it", async () => {
    context = await watched.browser.newContext();
    const page = await visit(context, served);
    await chooseFile(page, served.odd("large.jpg"));
    await protect(page);
    expect(distance(await send(page), served.truth.pictures[3])).toBeLessThan(0.1);
  });

  it("keeps a release while there is no network, and sends the same bytes once there is", async () => {
    context = await watched.browser.newContext();
    const page = await visit(context, served);
    await chooseFile(page, served.picture(3));
    const bytes = await protect(page);
    const before = watched.recorder.bodies.length;
    watched.recorder.isUp = false;
    await context.setOffline(true);
    await page.click("#send-button:enabled");
    await page.locator("#outbox li").waitFor();
    expect(watched.recorder.bodies).toHaveLength(before);
    watched.recorder.isUp = true;
    await context.setOffline(false); // the page notices by itself
    await page.locator("#answer", { hasText: "Found" }).waitFor();
    expect(watched.recorder.bodies.slice(before).map((request) => request.body)).toEqual([bytes]);
    await page.locator("#outbox li").waitFor({ state: "detached" });
  });

  it("opens without a network once it was visited, and still has the release", async () => {
    context = await watched.browser.newContext();
    const page = await visit(context, served);
    await page.evaluate(async () => { await navigator.serviceWorker.ready; });
    await chooseFile(page, served.picture(3));
    const bytes = await protect(page);
    watched.recorder.isUp = false;
    await context.setOffline(true);
    await page.click("#send-button:enabled");
    await page.locator("#outbox li").waitFor();
    await page.reload();
    expect(await page.locator("h1").textContent()).toContain("The photograph stays here");
    await page.locator("#outbox li").waitFor();
    const before = watched.recorder.bodies.length;
    watched.recorder.isUp = true;
    await context.setOffline(false);
    await page.locator("#answer", { hasText: "Found" }).waitFor();
    expect(watched.recorder.bodies.slice(before).map((request) => request.body)).toEqual([bytes]);
  });

  it("refuses a server that lists other words than the page trusts", async () => {
    context = await watched.browser.newContext();
    watched.recorder.tamper = (url, body) =>
      url.endsWith("/v1/maps") ? Buffer.from(body.toString().replace(/"fingerprint":"[0-9a-f]{4}/g, '"fingerprint":"0000')) : body;
    const page = await visit(context, served);
    expect(await problemOf(page)).toMatch(/words/);
    await chooseFile(page, served.picture(3));
    expect(await page.locator("#protect-button").isDisabled()).toBe(true);
  });

  it("refuses a dictionary that is not what its fingerprint says", async () => {
    context = await watched.browser.newContext();
    watched.recorder.tamper = (url, body) => {
      if (!url.includes("/v1/dictionaries/")) return body;
      const other = Buffer.from(body);
      other[other.length - 5000] = (other[other.length - 5000] ?? 0) ^ 1;
      return other;
    };
    const page = await visit(context, served);
    expect(await problemOf(page)).toMatch(/fingerprint/);
  });

  it("stops when the budget is spent, and says what is left", async () => {
    context = await watched.browser.newContext();
    const page = await visit(context, served);
    await page.click("summary");
    await page.fill("#budget", "5000");
    await chooseFile(page, served.picture(3));
    await protect(page); // 500 · 8 = 4,000
    const before = watched.recorder.bodies.length;
    await chooseFile(page, served.picture(4));
    await page.click("#protect-button:enabled");
    expect(await problemOf(page)).toMatch(/1,?000 is left/);
    expect(await page.locator("#send-button").isDisabled()).toBe(true);
    expect(watched.recorder.bodies).toHaveLength(before);
  });

  it("counts what two tabs spend in one ledger", async () => {
    context = await watched.browser.newContext();
    const [one, two] = [await visit(context, served), await visit(context, served)];
    await chooseFile(one, served.picture(3));
    await chooseFile(two, served.picture(4));
    await Promise.all([protect(one), protect(two)]);
    expect(await shownBytes(one)).not.toEqual(await shownBytes(two));
    await one.reload();
    await one.locator("#spent", { hasText: "8,000 spent" }).waitFor();
  });

  it("refuses to protect where nothing can be counted", async () => {
    context = await watched.browser.newContext();
    await context.addInitScript(() => { Object.defineProperty(globalThis, "indexedDB", { value: undefined }); });
    const page = await visit(context, served);
    await chooseFile(page, served.picture(3));
    await page.click("#protect-button:enabled");
    expect(await problemOf(page)).toMatch(/cannot be used: .* Nothing was charged/);
    expect(await page.locator("#send-button").isDisabled()).toBe(true);
  });

  it("names the browsers that have SIMD where this one has none", async () => {
    context = await watched.browser.newContext({ serviceWorkers: "block" });
    watched.recorder.tamper = (url, body) =>
      url.endsWith(".js") ? Buffer.from(body.toString().replaceAll("WebAssembly.validate(", "(() => false)(")) : body;
    const page = await visit(context, served);
    await page.setInputFiles("#file", served.picture(3));
    expect(await problemOf(page)).toMatch(/needs WebAssembly with SIMD.*use Chrome/);
    expect(await page.locator("#protect-button").isDisabled()).toBe(true);
  });

  it("refuses a wrong key in one sentence and forgets nothing", async () => {
    context = await watched.browser.newContext();
    const page = await newPage(context, []);
    await page.goto(`${served.url}/app/`);
    await page.fill("#key", "sfk_0123456789abcdef_wrong");
    await page.click("#connect-button");
    expect(await problemOf(page)).toMatch(/valid key/);
    await connect(page, served);
    await idle(page);
    expect(await page.evaluate(() => localStorage.length)).toBe(0);
  });
});
