/** Chromium with an empty profile, all of whose traffic is recorded. */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { Recorder, type Recorded } from "./recorder.ts";

const FOLDERS = (process.env["PATH"] ?? "").split(delimiter);
export const CHROMIUM =
  process.env["SFUMATO_CHROMIUM"] ?? FOLDERS.map((folder) => join(folder, "chromium")).find(existsSync) ?? "";
/** scripts/web says so where there is none. */
export const HAS_CHROMIUM = existsSync(CHROMIUM);

const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-domain-reliability",
  "--no-first-run",
  "--disable-extensions",
  "--disable-features=AutofillServerCommunication,OptimizationHints,MediaRouter,Translate",
];

/** Services that Chromium itself asks, whatever page is open; the recorder lets nothing through. */
const OF_THE_BROWSER = /^(update|content-autofill|optimizationguide-pa|clients\d?|safebrowsing)\.google(apis)?\.com$|^(accounts|www)\.google\.com$/;

/** Whether a request is the browser's own business, which no page can cause or prevent. */
export function isOfTheBrowser({ method, url }: Recorded): boolean {
  return OF_THE_BROWSER.test(method === "CONNECT" ? (url.split(":")[0] ?? "") : new URL(url).hostname);
}

/** No test asserts seconds: on a busy machine a page may take minutes. */
const PATIENCE = 300_000;

/** A browser and what it sent. */
export interface Watched {
  readonly browser: Browser;
  readonly recorder: Recorder;
}

export async function open(...more: string[]): Promise<Watched> {
  const recorder = await Recorder.start();
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: [...QUIET, ...more],
    proxy: { server: recorder.address, bypass: "<-loopback>" },
  });
  return { browser, recorder };
}

export async function close({ browser, recorder }: Watched): Promise<void> {
  await browser.close();
  recorder.stop();
}

/** A page whose own errors fail the test. */
export async function newPage(context: BrowserContext, problems: string[]): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  return page;
}
