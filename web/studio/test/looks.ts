/** How a tab looks to everybody: desktop and phone, light and dark; axe-core finds nothing serious. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** SFUMATO_SHOTS=FOLDER keeps pictures of whole pages. */
const SHOTS = process.env["SFUMATO_SHOTS"];

/** What axe-core finds that is serious. */
async function violations(page: Page): Promise<string[]> {
  return page.evaluate(async (source) => {
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the page forbids scripts of others; a test may run one all the same
    const run = new Function(`${source}; return axe;`) as () => { run(options: object): Promise<{ violations: { id: string; impact: string; nodes: { target: string[] }[] }[] }> };
    const { violations: found } = await run().run({ resultTypes: ["violations"] });
    return found.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
  }, AXE);
}

/** Fits both widths, and can be read in both colours. */
export async function fits(page: Page, name: string): Promise<void> {
  for (const [kind, width, height] of [["desktop", 1280, 900], ["phone", 390, 844]] as const) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(() => { scrollTo(0, 0); });
      await page.waitForTimeout(150); // charts follow the width
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${name}-${kind}-${colorScheme}.jpg`), type: "jpeg", quality: 72, fullPage: true });
      expect(await violations(page), `${name}, ${kind}, ${colorScheme}`).toEqual([]);
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}
