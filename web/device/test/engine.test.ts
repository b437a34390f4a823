import { IDBFactory } from "fake-indexeddb";
import { describe, expect, test } from "vitest";
import { guessCamera } from "../src/camera.ts";
import { Device } from "../src/device.ts";
import { Dictionary } from "../src/dictionary/dictionary.ts";
import type { EngineSettings } from "../src/engine.ts";
import { BudgetSpent, InvalidInput, LedgerError, Missing, NotPrivate, UnreadableImage } from "../src/errors.ts";
import { Ledger } from "../src/ledger.ts";
import { decode } from "../src/wire/wire.ts";
import { serve, type FromWorker, type ToWorker } from "../src/worker.ts";
import { blobs, words } from "./world.ts";

const { arrays, pin } = words();
const level = (await Dictionary.verify(arrays, pin)).at(2048);
const settings: EngineSettings = { recipe: { epsilon: 8 }, words: level, limits: {}, ledger: {} };
const picture = blobs();

/** A worker in this thread: messages are copied as between threads. */
class HereWorker {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  readonly #scope = {
    onmessage: null as ((event: MessageEvent<ToWorker>) => void) | null,
    postMessage: (message: FromWorker, transfer: Transferable[] = []) => {
      const data = structuredClone(message, { transfer });
      setTimeout(() => this.onmessage?.({ data } as MessageEvent<FromWorker>));
    },
  };
  terminated = false;

  constructor() {
    serve(this.#scope);
  }

  postMessage(message: ToWorker, transfer: Transferable[] = []): void {
    const data = structuredClone(message, { transfer });
    setTimeout(() => this.#scope.onmessage?.({ data } as MessageEvent<ToWorker>));
  }

  terminate(): void {
    this.terminated = true;
  }
}

test("a picture becomes a release that was charged before it existed", async () => {
  const factory = new IDBFactory();
  const device = await Device.start({ ...settings, factory });
  const seen: number[] = [];
  const done = await device.protect({ image: picture, camera: guessCamera(200, 160) }, (share) => seen.push(share));
  if (done === null) throw new Error("no keypoints");
  const release = decode(done.data);
  if (release.kind !== "words") throw new Error("another kind");
  const count = release.keypoints.length / 2;
  expect(count).toBeGreaterThan(20);
  expect(release).toMatchObject({ epsilon: 8, numWords: 2048, subsetSize: 1, dictionary: pin, reproducible: false });
  expect(done.cost).toMatchObject({ keypoints: count, bytes: done.data.length, epsilonPerUnit: 8, epsilonPerPicture: 8 * count });
  expect(done.cost.exactEpsilonPerPicture).toBeLessThan(8 * count);
  expect(done.cost.notProtected).toContain("the positions of the keypoints");
  expect(await (await Ledger.open({ factory })).spent()).toMatchObject({ pictures: 1, units: count, epsilon: 8 * count });
  expect([...seen].sort((a, b) => a - b)).toEqual(seen);
  expect(seen.at(-1)).toBe(1);
});

test("the true word is the nearest one: with ε = ∞ it is what is sent", async () => {
  const { nearestWord } = await import("./plain-search.ts");
  const { Sift } = await import("../src/sift.ts");
  const { loadNative } = await import("../src/native.ts");
  const device = await Device.start({ ...settings, recipe: { epsilon: Infinity }, ledger: "uncounted" });
  const done = await device.protect({ image: picture });
  const release = done && decode(done.data);
  if (release?.kind !== "words") throw new Error("no release");
  const features = new Sift(await loadNative()).extract(picture);
  const wanted = Array.from(features.scores, (_, i) => nearestWord(level, features.descriptors.subarray(128 * i, 128 * i + 128)));
  expect([...release.words].sort((a, b) => a - b)).toEqual(wanted.sort((a, b) => a - b));
  expect(done?.cost).toMatchObject({ epsilonPerUnit: null, exactEpsilonPerPicture: null, mechanism: "quantize" });
});

test("a guessed camera is said to be one, a field of view is not", async () => {
  const device = await Device.start({ ...settings, ledger: "uncounted" });
  expect(await device.protect({ image: picture })).toMatchObject({ cameraGuessed: true });
  expect(await device.protect({ image: picture, fieldOfView: 60 })).toMatchObject({ cameraGuessed: false });
  await expect(device.protect({ image: picture, camera: guessCamera(200, 160), fieldOfView: 60 })).rejects.toThrow(InvalidInput);
  await expect(device.protect({ image: picture, camera: guessCamera(160, 200) })).rejects.toThrow("upright picture is 200×160");
});

test("a picture without keypoints costs nothing", async () => {
  const factory = new IDBFactory();
  const device = await Device.start({ ...settings, factory });
  const blank = { width: 64, height: 64, data: new Uint8Array(4 * 64 * 64).fill(200) };
  expect(await device.protect({ image: blank })).toBeNull();
  const everything = [{ keep: "outside", boxes: [[-1, -1, 201, 161]] }] as const;
  expect(await device.protect({ image: picture, filters: everything })).toBeNull();
  expect((await (await Ledger.open({ factory })).spent()).pictures).toBe(0);
});

test("only the strongest are sent where so many are wanted", async () => {
  const device = await Device.start({ ...settings, recipe: { epsilon: 8, maxKeypoints: 7 }, ledger: "uncounted" });
  expect((await device.protect({ image: picture }))?.cost.keypoints).toBe(7);
});

describe("refused before anything is charged:", () => {
  test("a spent ledger", async () => {
    const factory = new IDBFactory();
    const device = await Device.start({ ...settings, factory, ledger: { caps: { session: 9 } } });
    await expect(device.protect({ image: picture })).rejects.toThrow(BudgetSpent);
  });

  test("no ledger, unless it is said explicitly", async () => {
    await expect(Device.start(settings)).rejects.toThrow(LedgerError);
    await expect(Device.start({ ...settings, ledger: "uncounted" })).resolves.toBeInstanceOf(Device);
  });

  test("a dictionary with fewer words than the limit", async () => {
    const limits = { minWords: 4096 };
    await expect(Device.start({ ...settings, limits, ledger: "uncounted" })).rejects.toThrow(NotPrivate);
  });

  test("an ε above the limit, or none at all", async () => {
    const limits = { maxEpsilon: 7 };
    await expect(Device.start({ ...settings, limits, ledger: "uncounted" })).rejects.toThrow(NotPrivate);
    const bare = { ...settings, recipe: { epsilon: Infinity }, limits, ledger: "uncounted" as const };
    await expect(Device.start(bare)).rejects.toThrow("no guarantee");
  });

  test("a picture that costs more than the limit", async () => {
    const factory = new IDBFactory();
    const device = await Device.start({ ...settings, factory, limits: { maxExact: 10 } });
    await expect(device.protect({ image: picture })).rejects.toThrow("at most E = 10 per picture");
    expect((await (await Ledger.open({ factory })).spent()).pictures).toBe(0);
  });

  test("a file where a browser's decoder is missing, and a picture that is too large for pixels", async () => {
    const device = await Device.start({ ...settings, ledger: "uncounted" });
    await expect(device.protect({ image: new Blob(["text"]) })).rejects.toThrow(Missing);
    await expect(device.protect({ image: picture, maxPixels: 100 })).rejects.toThrow(Missing);
    expect(new UnreadableImage("x")).toBeInstanceOf(InvalidInput);
  });
});

describe("in a worker", () => {
  const here = (): Worker => new HereWorker() as unknown as Worker;

  test("the same release comes back, with progress, and pictures follow each other", async () => {
    const device = await Device.start({ ...settings, ledger: "uncounted", worker: here });
    const seen: number[] = [];
    const both = await Promise.all([
      device.protect({ image: picture }, (share) => seen.push(share)),
      device.protect({ image: picture }),
    ]);
    for (const done of both) expect(done && decode(done.data).kind).toBe("words");
    expect(seen.at(-1)).toBe(1);
  });

  test("errors keep their class and sentence", async () => {
    await expect(Device.start({ ...settings, worker: here })).rejects.toThrow(LedgerError);
    const device = await Device.start({ ...settings, ledger: "uncounted", limits: { maxExact: 1 }, worker: here });
    await expect(device.protect({ image: picture })).rejects.toThrow(NotPrivate);
  });

  test("a closed device and a worker that cannot run say so", async () => {
    const worker = new HereWorker();
    const device = await Device.start({ ...settings, ledger: "uncounted", worker: () => worker as unknown as Worker });
    const waiting = device.protect({ image: picture });
    worker.onerror?.(new Event("error", { cancelable: true }));
    await expect(waiting).rejects.toThrow("worker-src");
    device.close();
    expect(worker.terminated).toBe(true);
    await expect(device.protect({ image: picture })).rejects.toThrow("closed");
  });
});
