/**
 * The studio as plain files below any path, with the network off: everything but a server's Place works.
 * SFUMATO_STUDIO=site/studio looks at what scripts/docs made.
 */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HAS_CHROMIUM, type Watched } from "../../app/test/browser.ts";
import { Site, SOFTWARE_GL } from "./site.ts";

/** What each tab must show, by its main story. */
const STORIES: Record<string, (page: Page) => Promise<void>> = {
  protect: async (page) => {
    await page.locator("#leaving-picture svg").waitFor();
    await page.click("#release-button:enabled");
    await page.locator("#save-button:enabled").waitFor();
  },
  attack: async (page) => { await page.locator(".shot[data-looks] #shot-words").waitFor(); },
  place: async (page) => {
    await page.locator('#place-stage[data-drawn="9363"]').waitFor();
    await page.locator("#tab-place", { hasText: "This page was opened without a server." }).waitFor();
  },
  frontier: async (page) => { await page.locator(".frontier-point").first().waitFor(); },
  ledger: async (page) => { await page.locator("#tab-ledger tbody tr").first().waitFor(); }, // what Protect made above
  audit: async (page) => {
    await page.click("#audit-button");
    await page.locator('#verdict[data-done="true"]', { hasText: /^Consistent/ }).waitFor();
  },
};

describe.runIf(HAS_CHROMIUM)("the static studio", () => {
  let site: Site;
  let watched: Watched;

  beforeAll(async () => {
    site = await Site.start("/docs/studio/");
    watched = await site.browser(...SOFTWARE_GL);
  });

  afterAll(async () => { await site.stop(); });

  it("works from a plain file server with the network off", async () => {
    const page = await site.visit(watched, "#protect?epsilon=10&keypoints=300");
    const refused: string[] = [];
    await page.context().route((address) => !address.href.startsWith(site.url), async (route) => {
      refused.push(route.request().url());
      await route.abort("internetdisconnected");
    });
    for (const [tab, story] of Object.entries(STORIES)) {
      if (tab !== "protect") await page.click(`#link-${tab}`);
      await story(page);
    }
    expect(refused).toEqual([]);
    expect(site.elsewhere()).toEqual([]);
    expect(site.carried()).toEqual([]);
    expect(site.problems).toEqual([]);
    await page.context().close();
  });
});
