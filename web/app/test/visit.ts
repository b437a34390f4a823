/** What a person does on the page, for the tests. */

import type { BrowserContext, Page } from "playwright-core";
import { newPage } from "./browser.ts";
import type { Served } from "./served.ts";

/** The gallery's camera sees 640 pixels at a focal length of 460.8: 25.92 mm on film. */
const LENS = "25.92";

/** A page that is connected to the gallery's map. */
export async function visit(context: BrowserContext, served: Served, problems: string[] = []): Promise<Page> {
  const page = await newPage(context, problems);
  await page.goto(`${served.url}/app/`);
  await connect(page, served);
  return page;
}

export async function connect(page: Page, served: Served): Promise<void> {
  await page.fill("#key", served.key);
  await page.click("#connect-button");
  await page.locator("#map:not([disabled])").waitFor();
  await idle(page);
}

/** Nothing is being worked on. */
export async function idle(page: Page): Promise<void> {
  await page.locator("body:not([aria-busy])").waitFor();
}

/** Protect the picture that is shown: the bytes as the page shows them. */
export async function protect(page: Page): Promise<Buffer> {
  await page.fill("#lens", LENS);
  await page.click("#protect-button:enabled");
  await page.locator("#send-button:enabled").waitFor();
  return shownBytes(page);
}

/** The bytes in the page's own list of them. */
export async function shownBytes(page: Page): Promise<Buffer> {
  const text = (await page.locator("#bytes").textContent()) ?? "";
  const rows = text.split("\n").filter((line) => /^[0-9a-f]{6} {2}/.test(line));
  return Buffer.from(rows.map((line) => line.slice(8).replaceAll(" ", "")).join(""), "hex");
}

/** Send what is shown: the centre that was found, or null. */
export async function send(page: Page): Promise<readonly number[] | null> {
  await page.click("#send-button:enabled");
  const verdict = page.locator("#answer", { hasText: /^(Found|Not found|Not answered)/ });
  await verdict.waitFor();
  const found = /^Found: you are at (.*) of the map/.exec((await verdict.textContent()) ?? "");
  return found === null ? null : (found[1] ?? "").split(", ").map(Number);
}

export async function chooseFile(page: Page, path: string): Promise<void> {
  await page.setInputFiles("#file", path);
  await page.locator("#found", { hasText: /keypoint/ }).waitFor();
  await idle(page);
}

export function distance(one: readonly number[] | null, other: readonly number[] | undefined): number {
  if (one === null || other === undefined) return Infinity;
  return Math.hypot(...one.map((value, axis) => value - (other[axis] ?? NaN)));
}
