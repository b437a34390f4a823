/**
 * ε moved from 12 to 6 on the astronaut: the new release and the new painting, by the clock and as processor time of all of Chromium.
 * Printed, never asserted. Runs with SFUMATO_MEASURE=1, on Linux.
 */

import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { HAS_CHROMIUM } from "../../app/test/browser.ts";
import { processorTime } from "./processor.ts";
import { Site } from "./site.ts";

const TIMES = 5;
const middle = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** Move ε and wait for what shows it: milliseconds by the clock, and of processor time. */
async function move(page: Page, epsilon: number, shown: () => Promise<void>): Promise<readonly [clock: number, processor: number]> {
  await page.waitForTimeout(1500); // what was before has ended
  const [start, before] = [performance.now(), processorTime()];
  await page.locator("#epsilon").fill(String(epsilon));
  await shown();
  return [performance.now() - start, 1000 * (processorTime() - before)];
}

async function report(name: string, page: Page, shown: (epsilon: number) => Promise<void>, own: () => Promise<number>): Promise<void> {
  const found: (readonly [number, number, number])[] = [];
  for (let time = 0; time < TIMES; time++) {
    await move(page, 12, () => shown(12));
    const [clock, processor] = await move(page, 6, () => shown(6));
    found.push([clock, processor, await own()]);
  }
  const [clock, processor, inside] = [0, 1, 2].map((at) => middle(found.map((row) => row[at] ?? NaN)).toFixed(0));
  console.log(`${name}: ${inside ?? ""} ms in its worker, ${clock ?? ""} ms by the clock until it is seen, ${processor ?? ""} ms of processor time; the middle of ${TIMES}`);
}

it.runIf(HAS_CHROMIUM && process.env["SFUMATO_MEASURE"] !== undefined)("draws and paints anew when ε moves from 12 to 6", async () => {
  const site = await Site.start();
  const watched = await site.browser();
  const milliseconds = (page: Page, selector: string) => async (): Promise<number> => Number(await page.locator(selector).getAttribute("data-milliseconds"));
  const protect = await site.visit(watched, "#protect?epsilon=12");
  await protect.locator("#leaving-picture svg").waitFor();
  await report("a new release", protect, async (epsilon) => { await protect.locator("#guarantee", { hasText: `ε = ${epsilon}.` }).waitFor(); }, milliseconds(protect, "#leaving-picture"));
  await protect.context().close();
  const attack = await site.visit(watched, "#attack?epsilon=12");
  await attack.setInputFiles("#file", join(import.meta.dirname, "../public/examples/astronaut.jpg")); // as an own photograph: nothing lifted is painted
  await attack.locator(".shot", { hasText: "yours; it stays in this tab" }).waitFor();
  const words = ".shot:has(#shot-words)";
  await attack.locator(`${words}[data-looks="all"]`).waitFor();
  await attack.locator('.shot[data-looks="all"][data-refined] #shot-raw').waitFor(); // nothing else is painted meanwhile
  await report("a new painting", attack, async (epsilon) => { await attack.locator(`${words}[data-looks="all"]:not(.is-old)`, { hasText: `ε = ${epsilon} per keypoint` }).waitFor(); }, milliseconds(attack, words));
  expect(site.problems).toEqual([]);
  await site.stop();
}, 3_600_000);
