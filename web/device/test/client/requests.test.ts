import { IDBFactory } from "fake-indexeddb";
import { beforeEach, expect, test, vi } from "vitest";
import { Client, type ClientSettings } from "../../src/client/client.ts";
import { BadAnswer } from "../../src/errors.ts";
import { goldenJson } from "../golden.ts";
import { FakeServer, blobs, json, tarOf, words } from "../world.ts";

const { arrays, pin } = words();
const picture = blobs();
const id = "abcdefghijklmnopqrstuv";
const dictionaries = [{ fingerprint: pin, num_words: 2048, name: null }];
const maps = [{ id, name: "gallery", extractor: "sift", accepts: ["words"], dictionaries }];
const found = { ...(goldenJson("device/answers.json") as Record<"with everything", object>)["with everything"], num_inliers: 5 };

let server: FakeServer;
let settings: ClientSettings;

beforeEach(() => {
  server = new FakeServer({
    "/v1/maps": () => json({ maps }),
    [`/v1/dictionaries/${pin}`]: () => new Response(tarOf(arrays).buffer as ArrayBuffer),
  });
  server.answers = [json(found)];
  settings = {
    ...{ server: "https://maps.example", key: "a-good-key", map: "gallery", epsilon: 8, dictionary: pin },
    ...{ fetch: server.fetch, factory: new IDBFactory() },
  };
});

test("a request carries the key, and the release where one is sent, and nothing else", async () => {
  const asked: RequestInit[] = [];
  const fetch: typeof server.fetch = (input, init) => {
    asked.push(init ?? {});
    return server.fetch(input, init);
  };
  await new Client({ ...settings, fetch }).localize({ image: picture });
  expect(asked.length).toBeGreaterThan(2);
  const rules = { cache: "no-store", credentials: "omit", redirect: "manual", referrerPolicy: "no-referrer" };
  for (const { body, headers, method, signal, ...rest } of asked) {
    expect(rest).toEqual(rules);
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(Object.keys(headers ?? {})).toEqual(method === "POST" ? ["Authorization", "Content-Type"] : ["Authorization"]);
    expect(body === undefined).toBe(method === "GET");
  }
});

test("a refusal is not asked again: the same bytes would be refused again", async () => {
  for (const status of [400, 401, 403, 404, 409, 413, 422, 500]) {
    const before = server.received.length;
    server.answers = [json({ error: "no", detail: "no." }, status)];
    await expect(new Client({ ...settings, ledger: "uncounted" }).localize({ image: picture })).rejects.toThrow(`status ${status}`);
    expect(server.received.slice(before).filter(({ body }) => body !== null)).toHaveLength(1);
  }
});

test("a deadline holds although the machine's clock is set back meanwhile", async () => {
  let now = Date.now();
  const clock = vi.spyOn(Date, "now").mockImplementation(() => (now -= 3_600_000));
  const lost: typeof server.fetch = () => Promise.reject(new TypeError("fetch failed"));
  try {
    const client = new Client({ ...settings, fetch: lost, patience: { deadline: 0.3, tries: 100 } });
    await expect(client.maps()).rejects.toThrow(/in [1-4] of 100 tries within 0.3 s/);
  } finally {
    clock.mockRestore();
  }
});

test("a map that was searched in part is said to be, and some of its points can be drawn", async () => {
  server.answers = [json({ ...found, searched: 0.5 }), json(found)];
  const client = new Client(settings);
  expect((await client.localize({ image: picture })).searched).toBe(0.5);
  expect((await client.localize({ image: picture })).searched).toBe(1);
  const told = [{ points: [[1, 2, 3]], up: [0, 0, 1] }, { points: [[1, 2]], up: [0, 0, 1] }, { points: [[1, 2, "3"]], up: [0, 0, 1] }];
  const drawn = new FakeServer({ "/v1/maps": () => json({ maps }), [`/v1/maps/${id}/points`]: () => json(told.shift()) });
  const other = new Client({ ...settings, fetch: drawn.fetch });
  expect(await other.points()).toEqual({ points: [[1, 2, 3]], up: [0, 0, 1] });
  await expect(other.points()).rejects.toThrow("a list of 3 is required");
  await expect(other.points()).rejects.toThrow(BadAnswer);
});
