/** The page in a real Chromium, before a real service: what it finds, and all that it sends. */

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { close, HAS_CHROMIUM, isOfTheBrowser, open, type Watched } from "./browser.ts";
import type { Recorded } from "./recorder.ts";
import { Served } from "./served.ts";
import { chooseFile, distance, idle, protect, send, visit } from "./visit.ts";

const ASKED = 20;
const WANTED = 18;
const WITHIN = 0.05; // metres

let served: Served;
let watched: Watched;
/** Every address that the page, its workers or its service worker asked for, as the browser tells. */
const asked = new Set<string>();

describe.runIf(HAS_CHROMIUM)("the page", () => {
  beforeAll(async () => {
    served = new Served();
    const film = `${served.folder}/walk.y4m`;
    watched = await open(
      "--use-fake-device-for-media-stream",
      "--use-fake-ui-for-media-stream",
      `--use-file-for-fake-video-capture=${film}`,
    );
  });

  afterAll(async () => {
    await close(watched);
  });

  it("localizes photographs from files at ε = 8, and sends nothing but what it showed", async () => {
    const problems: string[] = [];
    const context = await watched.browser.newContext();
    context.on("request", (request) => asked.add(request.url()));
    const page = await visit(context, served, problems);
    expect(await page.inputValue("#epsilon")).toBe("8");
    const before = watched.recorder.all.length;
    const shown: Buffer[] = [];
    let close = 0;
    for (let number = 0; number < ASKED; number++) {
      await chooseFile(page, served.picture(number));
      shown.push(await protect(page));
      expect(watched.recorder.all.slice(before).filter(isQuestion)).toHaveLength(number); // not sent yet
      close += Number(distance(await send(page), served.truth.pictures[number]) <= WITHIN);
    }
    console.log(`files: ${close} of ${ASKED} within 5 cm`);
    expect(close).toBeGreaterThanOrEqual(WANTED);
    const sent = watched.recorder.all.slice(before);
    expect(bodiesOf(sent)).toEqual(shown.map((bytes) => bytes.toString("hex")));
    for (let number = 0; number < ASKED; number++) expectNothingOf(readFileSync(served.picture(number)), sent);
    expect(problems).toEqual([]);
    await context.close();
  });

  it("localizes frames of the camera on a walk through the gallery", async () => {
    const problems: string[] = [];
    const context = await watched.browser.newContext({ permissions: ["camera"] });
    context.on("request", (request) => asked.add(request.url()));
    const page = await visit(context, served, problems);
    const before = watched.recorder.all.length;
    const shown: Buffer[] = [];
    const frames = new Set<number>();
    let close = 0;
    for (let number = 0; number < ASKED; number++) {
      await page.click("#camera-button");
      await page.waitForFunction(() => (document.getElementById("video") as HTMLVideoElement).videoWidth > 0);
      await page.waitForTimeout(130 * number); // the film begins anew with the camera: walk on
      await page.click("#take-button");
      await page.locator("#found", { hasText: /keypoint/ }).waitFor();
      await idle(page);
      const frame = nearestFrame(await page.evaluate(thumbnail), served.truth.thumbnails);
      frames.add(frame);
      shown.push(await protect(page));
      close += Number(distance(await send(page), served.truth.walk[frame]) <= WITHIN);
    }
    console.log(`camera: ${close} of ${ASKED} within 5 cm`);
    expect(close).toBeGreaterThanOrEqual(WANTED);
    expect(frames.size).toBeGreaterThan(5); // it is a walk, not one place
    expect(bodiesOf(watched.recorder.all.slice(before))).toEqual(shown.map((bytes) => bytes.toString("hex")));
    expect(problems).toEqual([]);
    await page.click("#camera-button");
    await page.locator("#take-button").waitFor();
    await page.evaluate(hidePage);
    await page.locator("#take-button").waitFor({ state: "hidden" }); // nobody sees the page: the camera is off
    expect(await page.evaluate(() => (document.getElementById("video") as HTMLVideoElement).srcObject)).toBeNull();
    await context.close();
  });

  it("has asked nobody but its own server in all of this", () => {
    expect(watched.recorder.all.length).toBeGreaterThan(2 * ASKED);
    const elsewhere = watched.recorder.all.filter((request) => !request.url.startsWith(served.url) && !isOfTheBrowser(request));
    expect(elsewhere.map((request) => `${request.method} ${request.url}`)).toEqual([]);
    expect(asked.size).toBeGreaterThan(5);
    expect([...asked].filter((address) => new URL(address).origin !== served.url && !address.startsWith("blob:"))).toEqual([]);
    const own = watched.recorder.bodies.filter((request) => request.url.startsWith(served.url));
    const bodies = own.map((request) => `${request.method} ${new URL(request.url).pathname}`);
    expect(bodies.every((line) => /^POST \/v1\/maps\/[\w-]+\/localize$/.test(line))).toBe(true);
  });
});

/** What was sent to anybody, but for the browser's own business. */
function bodiesOf(sent: readonly Recorded[]): string[] {
  return sent.filter((request) => request.body.length > 0 && !isOfTheBrowser(request)).map((request) => request.body.toString("hex"));
}

function isQuestion(request: Recorded): boolean {
  return request.url.endsWith("/localize");
}

/** No stretch of a file occurs in what was sent: neither in bodies nor in addresses and headers. */
function expectNothingOf(file: Buffer, sent: readonly Recorded[]): void {
  const all = Buffer.concat(sent.map((request) => Buffer.concat([request.body, Buffer.from(request.url + request.headers.join("\n"))])));
  for (let at = 64; at + 12 < file.length; at += Math.ceil(file.length / 200)) {
    const piece = file.subarray(at, at + 12);
    expect(all.includes(piece)).toBe(false);
    expect(all.includes(piece.toString("base64").slice(0, 15))).toBe(false);
  }
}

/** As if another tab came to the front; runs in the page. */
function hidePage(): void {
  Object.defineProperty(document, "hidden", { value: true });
  document.dispatchEvent(new Event("visibilitychange"));
}

/** Brightness of 32 × 24 squares of the picture on the page; runs in the page. */
function thumbnail(): number[] {
  const canvas = document.getElementById("pixels") as HTMLCanvasElement;
  const small = new OffscreenCanvas(32, 24).getContext("2d");
  if (small === null) return [];
  small.imageSmoothingQuality = "high";
  small.drawImage(canvas, 0, 0, 32, 24);
  const { data } = small.getImageData(0, 0, 32, 24);
  return Array.from({ length: 768 }, (_, at) => ((data[4 * at] ?? 0) + (data[4 * at + 1] ?? 0) + (data[4 * at + 2] ?? 0)) / 3);
}

function nearestFrame(seen: readonly number[], frames: readonly (readonly number[])[]): number {
  const apart = frames.map((frame) => frame.reduce((sum, value, at) => sum + Math.abs(value - (seen[at] ?? 0)), 0));
  return apart.indexOf(Math.min(...apart));
}
