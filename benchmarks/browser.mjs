// The device in Chromium, for browser.py: a page with the built files, asked by lines of JSON.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { chromium } = createRequire(new URL("../web/app/package.json", import.meta.url))("playwright-core");
const DIST = new URL("../web/device/dist/", import.meta.url);
const TYPES = { js: "text/javascript", wasm: "application/wasm" };
let pixels = new Uint8Array();

const server = createServer((request, response) => {
  const name = request.url.slice(1);
  if (name === "") response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>");
  else if (name === "words") response.end(readFileSync(process.argv[2]));
  else if (name.startsWith("pixels")) response.end(pixels);
  else {
    try {
      const body = readFileSync(new URL(name, DIST));
      response.writeHead(200, { "content-type": TYPES[name.split(".").at(-1)] ?? "text/plain" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const browser = await chromium.launch({
  executablePath: process.env.SFUMATO_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage();
await page.goto(`http://127.0.0.1:${server.address().port}/`);

async function prepare({ pin, epsilon }) {
  const device = await import("/index.js");
  const words = new Uint8Array(await (await fetch("/words")).arrayBuffer());
  const level = (await device.dictionaryFromTar(words, pin)).atEpsilon(epsilon, 1);
  const native = await device.loadNative();
  const search = new device.WordSearch(native, level.words, level.centres ?? undefined);
  const random = new device.SecureRandom();
  const tools = { extractor: new device.Sift(native), words: level, search, ledger: "uncounted", random, limits: {} };
  globalThis.work = async (picture, camera) => device.encode(await device.protect(picture, camera, { epsilon }, tools));
  globalThis.count = (bytes) => device.decode(bytes).keypoints.length / 2;
  return {};
}

async function protect({ width, height }) {
  const data = new Uint8Array(await (await fetch(`/pixels?${Math.random()}`)).arrayBuffer());
  const camera = { model: "PINHOLE", width, height, params: [0.72 * width, 0.72 * width, width / 2, height / 2] };
  const start = performance.now();
  const bytes = await globalThis.work({ width, height, data }, camera);
  return { ms: performance.now() - start, count: globalThis.count(bytes) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  if (asked.pixels !== undefined) pixels = readFileSync(asked.pixels);
  console.log(JSON.stringify(await page.evaluate(asked.pin === undefined ? protect : prepare, asked)));
}
await browser.close();
server.close();
