import { createHash } from "node:crypto";
import { IDBFactory } from "fake-indexeddb";
import { describe, expect, test } from "vitest";
import { openDatabase, readEntry, writeEntry } from "../../src/database.ts";
import { cachedDictionary, keepDictionary } from "../../src/dictionary/cache.ts";
import { Dictionary, dictionaryFromTar } from "../../src/dictionary/dictionary.ts";
import { BadAnswer, InvalidInput, Mismatch } from "../../src/errors.ts";
import { goldenBytes, goldenJson } from "../golden.ts";
import { nearestWord } from "../plain-search.ts";

interface Level {
  fingerprint: string;
  first_words: number[][];
  nearest: number[];
}
type Told = Record<string, Level> & { fingerprint: string; asked: number[][] };

describe.each(["dictionary", "dictionary-cells", "dictionary-groups"])("%s", (name) => {
  const told = goldenJson(`device/${name}.json`) as Told;
  const tar = goldenBytes(`device/${name}.tar`);

  test.each(["64", "1024", "2048"])("has Python's fingerprint and nearest words at %s words", async (size) => {
    const dictionary = await dictionaryFromTar(tar, told.fingerprint);
    const level = dictionary.at(Number(size));
    const wanted = told[size];
    if (wanted === undefined) throw new Error("the golden file has no such level");
    expect(level.fingerprint).toBe(wanted.fingerprint);
    if (level.groups === null) {
      expect([...level.words.subarray(0, 5 * 8)]).toEqual(wanted.first_words.flat());
      expect(level.words.length).toBe(8 * Number(size));
    }
    expect(told.asked.map((row) => nearestWord(level, row))).toEqual(wanted.nearest);
  });

  test("is taken by the fingerprint of a level, and then at that level only", async () => {
    const pin = told["1024"]?.fingerprint ?? "";
    const dictionary = await dictionaryFromTar(tar, pin);
    expect(dictionary.sizes).toEqual([1024]);
    expect([...dictionary.allowed]).toEqual([pin]);
    expect(dictionary.family.has(told.fingerprint)).toBe(true);
    expect(() => dictionary.at(2048)).toThrow(InvalidInput);
  });

  test("with another fingerprint is not used", async () => {
    await expect(dictionaryFromTar(tar, "0".repeat(64))).rejects.toThrow(Mismatch);
  });

  test("with one word changed is not used", async () => {
    const changed = tar.slice();
    const place = tar.findIndex((_, i) => tar[i] === 0x93 && tar[i + 1] === 0x4e && i > tar.length - 25_000);
    changed[place + 200] = (changed[place + 200] ?? 0) ^ 1;
    await expect(dictionaryFromTar(changed, told.fingerprint)).rejects.toThrow(Mismatch);
  });

  test("cut anywhere is refused in one sentence", async () => {
    for (const length of [0, 100, 511, 512, 5000, tar.length - 12_000]) {
      await expect(dictionaryFromTar(tar.subarray(0, length), told.fingerprint)).rejects.toThrow(BadAnswer);
    }
  });
});

test("the whole is searched as its manifest says, a level by its size", async () => {
  const open = (name: string): Promise<Dictionary> =>
    dictionaryFromTar(goldenBytes(`device/${name}.tar`), (goldenJson(`device/${name}.json`) as Told).fingerprint);
  const [exact, cells, groups] = await Promise.all([open("dictionary"), open("dictionary-cells"), open("dictionary-groups")]);
  expect(exact.at(2048).centres).toBeNull();
  expect(cells.at(2048).centres).toEqual(cells.at(1024).words);
  expect([cells.at(1024).centres, groups.at(2048).centres]).toEqual([null, null]);
  const many = { ...exact.arrays, dimension: 1, words: new Uint8Array(40_000), weights: new Uint32Array(40_000).fill(1) };
  const levels = [[16, Uint32Array.from({ length: 40_000 }, (_, i) => i % 16)]] as const;
  const head = new TextEncoder().encode("|u1|40000x1|sift|");
  const pin = createHash("sha256").update(head).update(many.words).digest("hex");
  const large = await Dictionary.verify({ ...many, levels, cells: false }, pin);
  expect(large.at(40_000).centres).toBeNull();
});

test("the level for an ε is the largest whose true word is sent often enough", async () => {
  const { fingerprint } = goldenJson("device/dictionary.json") as Told;
  const dictionary = await dictionaryFromTar(goldenBytes("device/dictionary.tar"), fingerprint);
  expect([1, 4, 6, 8, Infinity].map((epsilon) => dictionary.atEpsilon(epsilon, 1).numWords)).toEqual([64, 64, 1024, 2048, 2048]);
});

describe("the cache", () => {
  const { fingerprint } = goldenJson("device/dictionary.json") as Told;

  test("gives back what was kept, and nothing where nothing was", async () => {
    const factory = new IDBFactory();
    expect(await cachedDictionary(fingerprint, { factory })).toBeNull();
    const words = await dictionaryFromTar(goldenBytes("device/dictionary.tar"), fingerprint);
    expect(await keepDictionary(fingerprint, words, { factory })).toBe(true);
    expect((await cachedDictionary(fingerprint, { factory }))?.at(64)).toEqual(words.at(64));
  });

  test("verifies what it kept: damaged words are removed", async () => {
    const factory = new IDBFactory();
    const words = await dictionaryFromTar(goldenBytes("device/dictionary.tar"), fingerprint);
    const changed = words.arrays.words.slice();
    changed[0] = (changed[0] ?? 0) ^ 1;
    const database = await openDatabase({ factory });
    await writeEntry(database, "dictionaries", { fingerprint, arrays: { ...words.arrays, words: changed } });
    expect(await cachedDictionary(fingerprint, { factory })).toBeNull();
    expect(await readEntry(database, "dictionaries", fingerprint)).toBeUndefined();
  });

  test("fetches again what an earlier version of this package kept", async () => {
    const factory = new IDBFactory();
    const words = await dictionaryFromTar(goldenBytes("device/dictionary.tar"), fingerprint);
    const database = await openDatabase({ factory });
    for (const arrays of [{ ...words.arrays, cells: undefined }, { words: words.arrays.words }]) {
      await writeEntry(database, "dictionaries", { fingerprint, arrays });
      expect(await cachedDictionary(fingerprint, { factory })).toBeNull();
      expect(await readEntry(database, "dictionaries", fingerprint)).toBeUndefined();
    }
  });

  test("is not needed: without IndexedDB words are fetched each time", async () => {
    const words = await dictionaryFromTar(goldenBytes("device/dictionary.tar"), fingerprint);
    expect(await keepDictionary(fingerprint, words)).toBe(false);
    expect(await cachedDictionary(fingerprint)).toBeNull();
  });
});

test.each([
  ["a level that leaves a word out", { levels: [[2, Uint32Array.of(0, 1, 0)]] }],
  ["a level with an empty group", { levels: [[3, Uint32Array.of(0, 1, 3, 3)]] }],
  ["a weight of 0", { weights: Uint32Array.of(1, 1, 0, 1) }],
  ["one word", { words: new Uint8Array(2) }],
  ["a broken last word", { words: new Uint8Array(7) }],
  ["bits", { metric: "hamming" }],
  ["no extractor", { extractor: "" }],
  ["no word on how it is searched", { cells: undefined as unknown as boolean }],
] as const)("a dictionary with %s is refused", async (_, change) => {
  const arrays = {
    ...{ extractor: "sift", metric: "l2", dimension: 2, words: new Uint8Array(8), weights: null, cells: false },
    levels: [[2, Uint32Array.of(0, 1, 0, 1)]] as const,
  };
  await expect(Dictionary.verify({ ...arrays, ...change }, "0".repeat(64))).rejects.toThrow();
  await expect(Dictionary.verify({ ...arrays, ...change }, "0".repeat(64))).rejects.not.toThrow("is pinned");
});
