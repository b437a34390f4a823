/** The page fits a phone and a desktop, in light and dark, and works without a mouse. */

import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { close, HAS_CHROMIUM, open, type Watched } from "./browser.ts";
import { Served } from "./served.ts";
import { chooseFile, protect, send, visit } from "./visit.ts";

/** SFUMATO_SHOTS=FOLDER keeps a picture of each. */
const SHOTS = process.env["SFUMATO_SHOTS"];
let served: Served;
let watched: Watched;
let page: Page;

describe.runIf(HAS_CHROMIUM)("the page, to look at", () => {
  beforeAll(async () => {
    served = new Served();
    watched = await open();
    page = await visit(await watched.browser.newContext({ deviceScaleFactor: 2 }), served);
    await chooseFile(page, served.picture(3));
  });

  afterAll(async () => { await close(watched); });

  it("hides a region by keys alone", async () => {
    const count = async (): Promise<number> => Number(/; ([\d,]+) of them/.exec((await page.locator("#found").textContent()) ?? "")?.[1]?.replaceAll(",", ""));
    await page.selectOption("#keypoints", "20000");
    const before = await count();
    await page.focus("#hide-button");
    await page.keyboard.press("Enter");
    const box = page.locator(".box");
    expect(await box.evaluate((element) => element === document.activeElement)).toBe(true);
    const hidden = await count();
    expect(hidden).toBeLessThan(before);
    const left = await box.evaluate((element) => element.style.left);
    await page.keyboard.press("ArrowRight");
    expect(await box.evaluate((element) => element.style.left)).not.toBe(left);
    for (let times = 0; times < 4; times++) await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Delete");
    expect(await box.count()).toBe(0);
    expect(await count()).toBe(before);
    await page.selectOption("#keypoints", "500");
  });

  it("names every control for those who do not see it", async () => {
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>("input, select, button, a, canvas, [tabindex]")]
        .filter((element) => {
          const labels = (element as HTMLInputElement).labels?.length ?? 0;
          const text = element.textContent.trim() + (element.getAttribute("aria-label") ?? "");
          return labels === 0 && text === "" && element.getAttribute("aria-hidden") !== "true";
        })
        .map((element) => element.id),
    );
    expect(nameless).toEqual([]);
  });

  it.each([
    ["desktop", 1280, 900],
    ["phone", 390, 844],
  ] as const)("fits a %s in light and dark", async (name, width, height) => {
    await page.setViewportSize({ width, height });
    const area = await page.locator("#boxes").boundingBox();
    if (area === null) throw new Error("no picture is shown");
    await page.mouse.move(area.x + 0.52 * area.width, area.y + 0.45 * area.height);
    await page.mouse.down();
    await page.mouse.move(area.x + 0.74 * area.width, area.y + 0.62 * area.height);
    await page.mouse.up();
    expect(await page.locator(".box").count()).toBe(1);
    await protect(page);
    expect(await send(page)).not.toBeNull();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      const small = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>("button, .button, select, input:not(.quiet)")]
          .filter((element) => element.offsetParent !== null && element.getBoundingClientRect().height < 28)
          .map((element) => element.id),
      );
      expect(small).toEqual([]); // a finger can hit everything
      if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${name}-${colorScheme}.png`), fullPage: true });
    }
    await page.locator(".box button").click();
  });
});
