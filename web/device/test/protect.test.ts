import { IDBFactory } from "fake-indexeddb";
import { expect, test } from "vitest";
import { guessCamera } from "../src/camera.ts";
import { Dictionary } from "../src/dictionary/dictionary.ts";
import { BudgetSpent, NotPrivate } from "../src/errors.ts";
import { Ledger } from "../src/ledger.ts";
import { SecureRandom, type RandomSource } from "../src/privacy/randomness.ts";
import { protect, type Tools } from "../src/protect.ts";
import type { Features } from "../src/types.ts";
import { plainSearch } from "./plain-search.ts";
import { SeededRandom } from "./privacy/seeded.ts";
import { noise, words } from "./world.ts";

const { arrays, pin } = words(1024);
const level = (await Dictionary.verify(arrays, pin)).at(1024);
const features: Features = {
  ...{ width: 100, height: 80, extractor: "sift", dimension: 128 },
  ...{ keypoints: Float32Array.of(3, 4, 50, 60), descriptors: noise(256, 5) },
  ...{ scores: Float32Array.of(2, 1), scales: Float32Array.of(1, 1), angles: Float32Array.of(0, 0) },
};
const camera = guessCamera(100, 80);

function toolsWith(ledger: Ledger, random: RandomSource): Tools {
  const extractor = { extract: () => features };
  return { extractor: extractor as unknown as Tools["extractor"], words: level, search: plainSearch(level), ledger, random, limits: {} };
}

/** Secure, and counts how often it was asked. */
class Counted extends SecureRandom {
  asked = 0;

  protected override words(count: number): Uint32Array {
    this.asked++;
    return super.words(count);
  }
}

test("nothing is drawn where the ledger refuses, and nothing before the charge is on the disk", async () => {
  const random = new Counted();
  const ledger = await Ledger.open({ factory: new IDBFactory(), caps: { session: 20 } });
  const seen: number[] = [];
  const charge = ledger.charge.bind(ledger);
  ledger.charge = async (event) => {
    await charge(event);
    seen.push(random.asked);
  };
  expect(await protect(features, camera, { epsilon: 8 }, toolsWith(ledger, random))).not.toBeNull();
  expect(seen).toEqual([0]);
  const before = random.asked;
  expect(before).toBeGreaterThan(0);
  await expect(protect(features, camera, { epsilon: 8 }, toolsWith(ledger, random))).rejects.toThrow(BudgetSpent);
  expect(random.asked).toBe(before);
});

test("a known seed is not charged to a ledger: such a release must not look like a private one", async () => {
  const ledger = await Ledger.open({ factory: new IDBFactory() });
  await expect(protect(features, camera, { epsilon: 8 }, toolsWith(ledger, new SeededRandom(1)))).rejects.toThrow(NotPrivate);
  expect((await ledger.spent()).pictures).toBe(0);
});
