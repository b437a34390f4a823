/** What happens while the page works, or happened since the last visit. */

import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { close, HAS_CHROMIUM, open, type Watched } from "./browser.ts";
import { Served } from "./served.ts";
import { chooseFile, idle, protect, send, shownBytes, visit } from "./visit.ts";

let served: Served;
let watched: Watched;
let context: BrowserContext;

function told(page: Page, id: string, words: RegExp): Promise<void> {
  return page.locator(`#${id}`, { hasText: words }).waitFor();
}

/** Write to a store of the page's database; runs in the page. `change` is made of the entries that are there. */
async function rewrite(page: Page, store: string, change: "damage" | "another map"): Promise<void> {
  await page.evaluate(
    ({ store, change }) =>
      new Promise<void>((done) => {
        const opened = indexedDB.open("sfumato", 1);
        opened.onsuccess = () => {
          const writing = opened.result.transaction(store, "readwrite");
          const objects = writing.objectStore(store);
          const all = objects.getAll() as IDBRequest<Record<string, unknown>[]>;
          all.onsuccess = () => {
            const [entry] = all.result;
            if (store === "sessions") objects.put({ ...entry, spent: 0n });
            else if (change === "damage") objects.put({ ...entry, data: new Uint8Array(3) });
            else objects.put({ ...entry, id: "000000000000001-00", map: "x".repeat(22) }); // older, for a map that is gone
          };
          writing.oncomplete = () => {
            opened.result.close();
            done();
          };
        };
      }),
    { store, change },
  );
}

describe.runIf(HAS_CHROMIUM)("the page, meanwhile", () => {
  beforeAll(async () => {
    served = new Served();
    watched = await open("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream");
  });

  afterEach(async () => {
    watched.recorder.tamper = null;
    await context.close();
  });

  afterAll(async () => { await close(watched); });

  it("does not offer words that were drawn before a region was hidden", async () => {
    context = await watched.browser.newContext();
    const page = await visit(context, served);
    await chooseFile(page, served.picture(3));
    const locked = await page.evaluate(() => {
      document.getElementById("protect-button")?.click();
      document.getElementById("hide-button")?.click(); // a person cannot: the controls wait
      return ["connect", "device"].map((id) => document.getElementById(id)?.inert);
    });
    expect(locked).toEqual([true, true]);
    await told(page, "problem", /changed while the words were drawn, so they are not sent/);
    await idle(page);
    expect(await page.locator("#send-button").isDisabled()).toBe(true);
    expect(await page.locator("#outbox li").count()).toBe(0);
    expect(await page.evaluate(() => document.getElementById("device")?.inert)).toBe(false);
    await protect(page); // of what is shown now
    await told(page, "spent", /8,000 spent/);
  });

  it("charges nothing for a map with other words, also after one with the right words", async () => {
    context = await watched.browser.newContext();
    const other = "y".repeat(22);
    watched.recorder.tamper = (url, body) => {
      if (!url.endsWith("/v1/maps")) return body;
      const { maps } = JSON.parse(body.toString()) as { maps: { dictionaries: { fingerprint: string }[] }[] };
      const dictionaries = maps[0]?.dictionaries.map((words) => ({ ...words, fingerprint: "0".repeat(64) }));
      return Buffer.from(JSON.stringify({ maps: [...maps, { ...maps[0], id: other, name: "other", dictionaries }] }));
    };
    const page = await visit(context, served);
    await chooseFile(page, served.picture(3));
    const right = await page.inputValue("#map");
    await page.selectOption("#map", other);
    await told(page, "problem", /other words than this page trusts/);
    expect(await page.locator("#protect-button").isDisabled()).toBe(true);
    await chooseFile(page, served.picture(4));
    expect(await page.locator("#protect-button").isDisabled()).toBe(true);
    await page.selectOption("#map", right);
    await protect(page);
    await told(page, "spent", /N·ε = 4,000 spent/);
  });

  it("goes on with a budget that was lowered on an earlier visit", async () => {
    context = await watched.browser.newContext();
    const page = await visit(context, served);
    await page.click("summary");
    await page.fill("#budget", "20000");
    await chooseFile(page, served.picture(3));
    await protect(page);
    await page.reload();
    await told(page, "spent", /16,000 left of 20,000/);
    expect(await page.inputValue("#budget")).toBe("20000");
    await page.evaluate(() => { (document.getElementById("budget") as HTMLInputElement).value = "100000"; });
    await chooseFile(page, served.picture(4));
    await protect(page);
    await told(page, "spent", /12,000 left of 20,000/);
  });

  it("works beside a release that was damaged, and says that a damaged ledger is one", async () => {
    context = await watched.browser.newContext();
    const page = await visit(context, served);
    await chooseFile(page, served.picture(3));
    await protect(page);
    await rewrite(page, "outbox", "damage");
    await page.reload();
    await told(page, "connected", /Connected/);
    expect(await page.locator("#outbox li").count()).toBe(0);
    await rewrite(page, "sessions", "damage");
    await page.reload();
    await told(page, "spent", /ledger is damaged/);
  });

  it("shows what an earlier tab drew before it sends it, the same bytes at no further cost", async () => {
    context = await watched.browser.newContext();
    const first = await visit(context, served);
    await chooseFile(first, served.picture(3));
    const bytes = await protect(first);
    await first.close();
    const before = watched.recorder.bodies.length;
    const page = await visit(context, served);
    await page.click("#outbox button >> text=Show it");
    await page.locator("#send-button:enabled").waitFor();
    expect(await shownBytes(page)).toEqual(bytes);
    expect(watched.recorder.bodies).toHaveLength(before);
    expect(await send(page)).not.toBeNull();
    expect(watched.recorder.bodies.slice(before).map((request) => request.body)).toEqual([bytes]);
    expect(await page.locator("#outbox li").count()).toBe(0);
    await told(page, "spent", /N·ε = 4,000 spent/);
  });

  it("sends what waits behind a release whose map is gone", async () => {
    context = await watched.browser.newContext();
    const page = await visit(context, served);
    await chooseFile(page, served.picture(3));
    await protect(page);
    await rewrite(page, "outbox", "another map");
    const before = watched.recorder.bodies.length;
    await page.reload();
    await page.locator("#outbox li").nth(1).waitFor();
    await idle(page);
    const ids = await page.evaluate(
      () =>
        new Promise<string>((done) => {
          const opened = indexedDB.open("sfumato", 1);
          opened.onsuccess = () => {
            const keys = opened.result.transaction("outbox").objectStore("outbox").getAllKeys();
            keys.onsuccess = () => { opened.result.close(); done((keys.result as string[]).join(" ")); };
          };
        }),
    );
    await page.evaluate((sent) => { sessionStorage.setItem("sfumato-sent", sent); }, ids); // both were sent by the person
    await page.reload();
    await told(page, "connected", /Connected/);
    await idle(page);
    await page.evaluate(() => { window.dispatchEvent(new Event("online")); });
    await told(page, "answer", /^Found/);
    await told(page, "problem", /no such map/);
    expect(watched.recorder.bodies.length - before).toBe(1);
    expect(await page.locator("#outbox li").count()).toBe(1);
  });

  it("shows that only a part of the map was searched", async () => {
    context = await watched.browser.newContext();
    const warning = "13% of the map's images could not be looked at.";
    watched.recorder.tamper = (url, body) =>
      url.endsWith("/localize") ? Buffer.from(JSON.stringify({ ...(JSON.parse(body.toString()) as object), searched: 0.875, warning })) : body;
    const page = await visit(context, served);
    await chooseFile(page, served.picture(3));
    await protect(page);
    expect(await send(page)).not.toBeNull();
    expect(await page.locator("#warning").textContent()).toBe(warning);
    expect(await page.locator("#answer-facts").textContent()).toContain("of the map's images were searched87 %");
    watched.recorder.tamper = null;
    await send(page);
    await page.locator("#warning").waitFor({ state: "hidden" });
    expect(await page.locator("#answer-facts").textContent()).not.toContain("searched");
  });

  it("leaves no camera on that nobody sees", async () => {
    context = await watched.browser.newContext({ permissions: ["camera"] });
    const page = await visit(context, served);
    await page.evaluate(() => {
      const devices = navigator.mediaDevices;
      const ask = devices.getUserMedia.bind(devices);
      const given: MediaStream[] = [];
      Object.assign(globalThis, { given });
      devices.getUserMedia = async (wanted) => {
        const stream = await ask(wanted);
        given.push(stream);
        return stream;
      };
    });
    const states = (): Promise<string[]> =>
      page.evaluate(() => (globalThis as unknown as { given: MediaStream[] }).given.map((stream) => stream.getTracks()[0]?.readyState ?? ""));
    await page.evaluate(() => {
      const button = document.getElementById("camera-button");
      button?.click();
      button?.click(); // impatient
    });
    await page.locator("#take-button").waitFor();
    await expect.poll(states).toEqual(["ended", "live"]);
    expect(await page.locator("#problem").isHidden()).toBe(true);
    await page.click("#camera-button");
    await expect.poll(states).toEqual(["ended", "ended"]);
    await page.evaluate(() => {
      document.getElementById("camera-button")?.click();
      Object.defineProperty(document, "hidden", { value: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await expect.poll(states).toEqual(["ended", "ended", "ended"]);
    expect(await page.locator("#video").isHidden()).toBe(true);
  });
});
