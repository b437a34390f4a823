/**
 * Pictures of every tab, at desktop and phone width, light and dark; docs/images/studio holds what this writes.
 *
 *   sfumato studio --port 8760        in another terminal
 *   node web/studio/scripts/shots.mjs http://127.0.0.1:8760/ docs/images/studio      (or some tabs: … audit place)
 *   node web/studio/scripts/shots.mjs URL FOLDER --full    whole pages, to look at
 *
 * Needs Chromium (SFUMATO_CHROMIUM, or `chromium` in PATH). A picture of more than 150 kB is an error.
 */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

const [url, folder, ...words] = process.argv.slice(2);
if (url === undefined || folder === undefined) throw new Error("shots.mjs needs the studio's address and a folder.");
const isWhole = words.includes("--full");
const wanted = words.filter((word) => !word.startsWith("--"));
const path = (process.env.PATH ?? "").split(delimiter).map((place) => join(place, "chromium")).find(existsSync);
const executablePath = process.env.SFUMATO_CHROMIUM ?? path;
const LIMIT = 150_000;
const PATIENCE = 300_000;

/** What is there when a tab has nothing more to do. */
const READY = {
  protect: "#leaving-picture svg",
  attack: '.shot[data-looks="all"] #shot-lifted',
  place: "#place-stage[data-drawn]",
  frontier: ".frontier-point",
  ledger: "#ledger-verdict",
  audit: "#audit-button",
};
const SIZES = { desktop: { width: 1280, height: 1000 }, phone: { width: 390, height: 844 } };

/** What a person does before there is something to see. */
async function act(page, tab) {
  if (tab === "audit") {
    await page.click("#audit-button");
    await page.locator('#verdict[data-done="true"]').waitFor();
  }
  if (tab === "ledger") {
    await page.goto(`${url}#protect`);
    for (const epsilon of [8, 6, 10]) {
      await page.locator("#epsilon").fill(String(epsilon));
      await page.locator("#guarantee", { hasText: `ε = ${epsilon}.` }).waitFor();
      await page.click("#release-button:enabled");
      await page.locator("#save-button:enabled").waitFor();
    }
    await page.click("#link-ledger");
    await page.locator("#tab-ledger tbody tr").nth(2).waitFor();
  }
}

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
});
for (const [tab, ready] of Object.entries(READY)) {
  if (wanted.length > 0 && !wanted.includes(tab)) continue;
  const context = await browser.newContext({ viewport: SIZES.desktop });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.on("pageerror", (error) => { console.log(`${tab}: ${error.message}`); });
  page.on("console", (message) => { if (message.type() === "error") console.log(`${tab}: ${message.text()}`); });
  await page.goto(`${url}#${tab}`);
  await page.locator(ready).first().waitFor();
  await page.locator("body:not([aria-busy])").waitFor();
  await act(page, tab);
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      // On a desktop from the tabs on: the title above them is the same everywhere.
      await page.evaluate((fromTabs) => { scrollTo(0, fromTabs ? document.querySelector("nav.tabs").offsetTop - 4 : 0); }, !isWhole && size === "desktop");
      await page.waitForTimeout(700); // charts follow the width, the map is drawn again
      const name = `${tab}-${size}-${colorScheme}.jpg`;
      let picture;
      for (const quality of [70, 55, 40]) {
        picture = await page.screenshot({ fullPage: isWhole, type: "jpeg", quality });
        if (isWhole || picture.length <= LIMIT) break;
      }
      if (!isWhole && picture.length > LIMIT) throw new Error(`${name} has ${picture.length} bytes, at most ${LIMIT} are kept.`);
      writeFileSync(join(folder, name), picture);
      console.log(`${name} ${picture.length}`);
    }
  }
  await context.close();
}
await browser.close();
