import { IDBFactory } from "fake-indexeddb";
import { beforeEach, describe, expect, test } from "vitest";
import { Client, type ClientSettings } from "../../src/client/client.ts";
import { BadAnswer, BudgetSpent, InvalidInput, LedgerError, Mismatch, NotPrivate, Refused, Unreachable } from "../../src/errors.ts";
import { decode, encode } from "../../src/wire/wire.ts";
import { goldenJson } from "../golden.ts";
import { FakeServer, blobs, json, tarOf, words } from "../world.ts";

const { arrays, pin } = words();
const archive = tarOf(arrays);
const picture = blobs();
const id = "abcdefghijklmnopqrstuv";
const map = {
  ...{ id, name: "gallery", extractor: "sift", accepts: ["words"] },
  dictionaries: [{ fingerprint: pin, num_words: 2048, name: null }],
};
const answers = goldenJson("device/answers.json") as Record<"found" | "not found" | "with everything", object>;
const found = { ...answers["with everything"], num_inliers: 5 };
const plan = { epsilon: 8, num_words: 2048, subset_size: 2, max_keypoints: 30, dictionary: pin };

let server: FakeServer;
let settings: ClientSettings;
let maps: object[];
let advice: object;

beforeEach(() => {
  maps = [map];
  advice = plan;
  server = new FakeServer({
    "/v1/maps": () => json({ maps }),
    [`/v1/maps/${id}`]: () => json(maps[0]),
    [`/v1/maps/${id}/plan`]: () => json(advice),
    [`/v1/dictionaries/${pin}`]: () => new Response(archive.slice().buffer),
  });
  server.answers = [json(found)];
  settings = {
    ...{ server: "https://maps.example", key: "a-good-key", map: "gallery", epsilon: 8, dictionary: pin },
    ...{ fetch: server.fetch, factory: new IDBFactory(), patience: { tries: 2, deadline: 20 } },
  };
});

const sent = (): Uint8Array[] => server.received.flatMap(({ body }) => (body === null ? [] : [body]));

test("a picture is localized, and the only body that leaves is the release that was shown", async () => {
  const client = new Client(settings);
  const prepared = await client.prepare({ image: picture });
  expect(sent()).toEqual([]);
  if (prepared === null) throw new Error("no keypoints");
  const answer = await client.send(prepared);
  expect(sent()).toEqual([prepared.data]);
  expect(answer.pose?.center).toEqual([-2, 1, -3]);
  expect(answer).toMatchObject({ numInliers: 5, warning: "the camera does not fit", log10Chance: -31.26, reason: null });
  expect(answer.expectedError).toMatchObject({ position: 0.02, rotationDeg: 0.3 });
  expect(answer.camera?.params).toEqual([500, 320, 240]);
  expect(await client.spent()).toMatchObject({ pictures: 1, units: prepared.cost.keypoints });
  expect(await client.waiting()).toEqual([]);
  expect(server.received.every(({ headers }) => headers["Authorization"] === "Bearer a-good-key")).toBe(true);
  await client.close();
});

test("a picture that is not found has a reason, and one without keypoints is not sent", async () => {
  server.answers = [json({ ...answers["not found"], num_inliers: 2 })];
  const client = new Client(settings);
  expect(await client.localize({ image: picture })).toMatchObject({ pose: null, reason: "9 inliers, 12 needed" });
  const blank = { width: 32, height: 32, data: new Uint8Array(32 * 32).fill(9) };
  const nothing = await client.localize({ image: blank });
  expect(nothing.reason).toBe("the picture has no keypoints; nothing was charged or sent");
  expect(sent()).toHaveLength(1);
});

test("a busy server is asked again with the same bytes, and charged once", async () => {
  server.answers = [json({ detail: "busy" }, 503, { "Retry-After": "0" }), json(found)];
  const client = new Client(settings);
  await client.localize({ image: picture });
  const [first, second, ...more] = sent();
  expect(more).toEqual([]);
  expect(second).toEqual(first);
  expect((await client.spent())?.pictures).toBe(1);
});

test("a server that never answers is given up at the deadline, and the release is kept", async () => {
  const client = new Client({ ...settings, patience: { deadline: 0.5, tries: 3 } });
  const prepared = await client.prepare({ image: picture });
  if (prepared === null) throw new Error("no keypoints");
  await client.findMap();
  const silent = (_: RequestInfo | URL, init?: RequestInit): Promise<Response> =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => { reject(init.signal?.reason as Error); }));
  const waiting = new Client({ ...settings, fetch: silent, patience: { deadline: 0.5, tries: 3 } });
  await expect(waiting.send(prepared)).rejects.toThrow("within 0.5 s: it took too long. The release is kept");
  expect(await client.waiting()).toHaveLength(1);
});

describe("offline in the middle", () => {
  test("the release is kept and sent later, the same bytes, at no further cost", async () => {
    server.answers = [new TypeError("fetch failed")];
    const client = new Client(settings);
    const problem: unknown = await client.localize({ image: picture }).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(Unreachable);
    expect(String(problem)).toContain("The release is kept in this browser; sending it costs nothing more.");
    const [waiting] = await client.waiting();
    expect(waiting?.data).toEqual((problem as Unreachable).prepared?.data);
    server.answers = [json(found)];
    const outcomes = await client.flush();
    expect(outcomes).toHaveLength(1);
    expect(outcomes[0]?.localization?.pose).not.toBeNull();
    expect(new Set(sent().map((body) => Buffer.from(body).toString("hex"))).size).toBe(1);
    expect(await client.waiting()).toEqual([]);
    expect((await client.spent())?.pictures).toBe(1);
  });

  test("a picture can be taken without any network once words are cached, also after a restart", async () => {
    await new Client(settings).words();
    server.online = false;
    const client = new Client(settings);
    await expect(client.localize({ image: picture })).rejects.toThrow("kept in this browser");
    const again = new Client(settings);
    expect(await again.waiting()).toHaveLength(1);
    server.online = true;
    expect((await again.flush())[0]?.error).toBeNull();
  });

  test("without an outbox nothing is charged", async () => {
    server.online = false;
    const client = new Client({ ...settings, outbox: false });
    await expect(client.localize({ image: picture })).rejects.toThrow(Unreachable);
    expect((await client.spent())?.pictures).toBe(0);
  });

  test("a release the server refuses stays until it is forgotten, and does not hold up the next", async () => {
    const client = new Client(settings);
    const prepared = [await client.prepare({ image: picture }), await client.prepare({ image: picture })];
    server.answers = [json({ error: "conflict", detail: "another dictionary." }, 409), json(found)];
    const outcomes = await client.flush();
    expect(outcomes.map(({ error }) => (error instanceof Refused ? error.status : null))).toEqual([409, null]);
    expect((await client.waiting()).map((one) => one.id)).toEqual([prepared[0]?.id]);
    await client.forget(prepared[0]?.id ?? "");
    expect(await client.waiting()).toEqual([]);
  });

  test("neither does one whose map is gone, or whose answer cannot be true", async () => {
    const client = new Client(settings);
    const prepared = [await client.prepare({ image: picture, map: "gone" }), await client.prepare({ image: picture })];
    server.answers = [json([])];
    expect((await client.flush()).map(({ error }) => error?.name)).toEqual(["Refused", "BadAnswer"]);
    server.answers = [json(found)];
    expect((await client.flush()).map(({ error }) => error?.name)).toEqual(["Refused", undefined]);
    expect((await client.waiting()).map((one) => one.id)).toEqual([prepared[0]?.id]);
  });
});

describe("a server cannot", () => {
  test("hand out other words than those that are pinned", async () => {
    const other = words(2048, 99);
    const liar = new FakeServer({ [`/v1/dictionaries/${pin}`]: () => new Response(tarOf(other.arrays).buffer as ArrayBuffer) });
    await expect(new Client({ ...settings, fetch: liar.fetch }).start()).rejects.toThrow("is pinned");
  });

  test("make the dictionary smaller than the client allows", async () => {
    await expect(new Client({ ...settings, minWords: 4096 }).localize({ image: picture })).rejects.toThrow(NotPrivate);
    expect(sent()).toEqual([]);
    advice = { ...plan, num_words: 64 };
    await expect(new Client(settings).followPlan()).rejects.toThrow("at least 1024 words");
  });

  test("raise ε by a plan", async () => {
    advice = { ...plan, epsilon: 9 };
    await expect(new Client(settings).followPlan()).rejects.toThrow("its plan is not taken");
  });

  test("bring in other words by a plan or a map", async () => {
    advice = { ...plan, dictionary: "0".repeat(64) };
    await expect(new Client(settings).followPlan()).rejects.toThrow(Mismatch);
    maps = [{ ...map, dictionaries: [{ fingerprint: "0".repeat(64), num_words: 2048, name: null }] }];
    const client = new Client(settings);
    await expect(client.localize({ image: picture })).rejects.toThrow("nothing was charged or sent");
    expect((await client.spent())?.pictures).toBe(0);
  });

  test.each([
    [{ ...map, extractor: "freak" }, "the map holds freak features"],
    [{ ...map, accepts: ["plain"] }, "releases of plain"],
  ])("take what the device does not make: %j", async (offered, sentence) => {
    maps = [offered];
    await expect(new Client(settings).localize({ image: picture })).rejects.toThrow(sentence);
    expect(sent()).toEqual([]);
  });

  test.each([
    [{ ...found, num_inliers: 100_000 }, "100000 inliers"],
    [{ ...found, num_inliers: 5, num_matches: 4 }, "5 inliers among 4 matches"],
    [{ ...found, localized: false }, "contradicts itself"],
    [{ ...found, center: [0, 0, 0] }, "not the same place"],
    [{ ...found, cam_from_world: { rotation: [[1, 0, 0], [0, 1, 0], [0, 0, -1]], translation: [0, 0, 0] } }, "proper rotation"],
    [{ ...found, num_inliers: "5" }, "num_inliers"],
    [{ ...found, camera: { model: "NONE", width: 1, height: 1, params: [] } }, "camera cannot be one"],
    [{ ...found, expected_error: { position: -1 } }, "position"],
    [{ ...found, searched: 2 }, "searched"],
    [[], "num_inliers"],
  ])("be believed when it says what cannot be true (%#)", async (said, sentence) => {
    server.answers = [json(said)];
    const client = new Client(settings);
    await expect(client.localize({ image: picture })).rejects.toThrow(BadAnswer);
    await expect(client.localize({ image: picture })).rejects.toThrow(sentence);
  });

  test("send the release elsewhere, write to the screen, or answer without end", async () => {
    server.answers = [new Response(null, { status: 307, headers: { Location: "https://evil.example/" } })];
    const client = new Client({ ...settings, ledger: "uncounted" });
    await expect(client.localize({ image: picture })).rejects.toThrow("redirects to another address");
    server.answers = [json({ error: "no", detail: "a\u001b[31m\u202e\nb" }, 400)];
    await expect(client.localize({ image: picture })).rejects.toThrow("status 400: a\\u001b[31m\\u202e b");
    server.answers = [new Response("x".repeat(100_000))];
    await expect(client.localize({ image: picture })).rejects.toThrow("longer than 65536 bytes");
    await expect(new Client({ ...settings, factory: new IDBFactory(), maxDictionaryBytes: 5000 }).words()).rejects.toThrow("longer than 5000");
  });
});

test("a plan within the limits is taken, and what changed is said", async () => {
  const client = new Client(settings);
  expect(await client.followPlan()).toEqual(["ω = 2 words per keypoint instead of 1", "the 30 strongest keypoints"]);
  const prepared = await client.prepare({ image: picture });
  expect(prepared?.release).toMatchObject({ subsetSize: 2 });
  expect(prepared?.cost.keypoints).toBe(30);
});

describe("nothing leaves", () => {
  test("when the ledger is spent", async () => {
    const client = new Client({ ...settings, ledger: { caps: { session: 20 } } });
    await expect(client.localize({ image: picture })).rejects.toThrow(BudgetSpent);
    expect(sent()).toEqual([]);
  });

  test("uncounted, in a window that keeps nothing, unless that is said", async () => {
    const { factory, ...keepsNothing } = settings;
    expect(factory).toBeDefined();
    await expect(new Client({ ...keepsNothing, outbox: false }).localize({ image: picture })).rejects.toThrow(LedgerError);
    await expect(new Client(keepsNothing).localize({ image: picture })).rejects.toThrow(InvalidInput);
    expect(sent()).toEqual([]);
    await new Client({ ...keepsNothing, ledger: "uncounted" }).localize({ image: picture });
    expect(sent()).toHaveLength(1);
  });

  test("that was made with a known seed, or is no release of this client's words", async () => {
    const client = new Client(settings);
    const prepared = await client.prepare({ image: picture });
    if (prepared === null) throw new Error("no keypoints");
    await expect(client.send(encode({ ...prepared.release, reproducible: true }))).rejects.toThrow("known seed");
    const release = decode(prepared.data);
    if (release.kind !== "words") throw new Error("another kind");
    await expect(client.send(encode({ ...release, dictionary: "1".repeat(64) }))).rejects.toThrow(Mismatch);
    await expect(client.send(encode({ ...release, epsilon: 9 }))).rejects.toThrow(NotPrivate);
    await expect(client.send(encode({ ...release, camera: null }))).rejects.toThrow("intrinsics");
    expect(sent()).toEqual([]);
  });
});

test("an unknown map is a refusal in one sentence, and a map is asked for once", async () => {
  const client = new Client(settings);
  await expect(client.localize({ image: picture, map: "elsewhere" })).rejects.toThrow("no such map");
  await client.findMap(id);
  await client.findMap(id);
  expect(server.received.filter(({ path }) => path === `/v1/maps/${id}`)).toHaveLength(1);
});

test.each([
  [{ server: "http://maps.example" }, "unencrypted"],
  [{ server: "ftp://maps.example" }, "https://"],
  [{ server: "https://me:secret@maps.example" }, "plain address"],
  [{ server: "nonsense" }, "address of a server"],
  [{ key: "short\n" }, "API key"],
  [{ epsilon: -1 }, "epsilon"],
  [{ epsilon: 9, maxEpsilon: 8 }, "at most ε = 8"],
  [{ numWords: 64 }, "at least 1024 words"],
  [{ dictionary: "bsds-16k" }, "fingerprint"],
  [{ patience: { tries: 0 } }, "tries"],
  [{ patience: { deadline: -1 } }, "deadline"],
])("a client with %j is refused at once", (change, sentence) => {
  expect(() => new Client({ ...settings, ...change })).toThrow(sentence);
});

test("this machine may be asked without TLS", () => {
  for (const address of ["http://localhost:8000", "http://127.0.0.1:9", "http://[::1]/"]) {
    expect(() => new Client({ ...settings, server: address })).not.toThrow();
  }
});
