import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { at } from "../src/checks.ts";
import { readNpy } from "../src/dictionary/archive.ts";
import { Dictionary } from "../src/dictionary/dictionary.ts";
import { InvalidInput } from "../src/errors.ts";
import { loadNative } from "../src/native.ts";
import { cellLevel, WordSearch } from "../src/nearest.ts";
import { goldenNames } from "./golden.ts";
import { goldenSift } from "./golden-sift.ts";

let native: WebAssembly.Module;
let bundled: Dictionary;
beforeAll(async () => {
  native = await loadNative();
  bundled = await openBundled("open-64k");
}, 60_000);

const BUNDLED = new URL("../../../src/sfumato/dictionary/data/", import.meta.url);

/** A dictionary that comes with sfumato. */
async function openBundled(name: string): Promise<Dictionary> {
  const read = (file: string) => readFileSync(new URL(`${name}/${file}`, BUNDLED));
  const manifest = JSON.parse(read("manifest.json").toString()) as { fingerprint: string; levels: number[]; index: { kind: string } };
  const array = (file: string) => readNpy(file, new Uint8Array(read(file)));
  const levels = manifest.levels.map((size) => [size, Uint32Array.from(array(`level-${size}.npy`).values)] as const);
  const arrays = { extractor: "sift", metric: "l2", dimension: 128, levels, cells: manifest.index.kind === "cells" };
  const weights = Uint32Array.from(array("weights.npy").values);
  return Dictionary.verify({ ...arrays, words: Uint8Array.from(array("words.npy").values), weights }, manifest.fingerprint);
}

/** Repeatable numbers from 0 to 2³² − 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0);
}

/** Rows of 128 bytes that stay below `limit`, around a few middles as descriptors do. */
function rows(count: number, limit: number, seed: number): Uint8Array {
  const next = numbers(seed);
  const middles = Uint8Array.from({ length: 8 * 128 }, () => (next() >>> 9) % limit);
  return Uint8Array.from({ length: count * 128 }, (_, i) => {
    const middle = at(middles, (Math.floor(i / 128) % 8) * 128 + (i % 128));
    return Math.min(limit - 1, Math.max(0, middle + ((next() >>> 9) % 41) - 20));
  });
}

function squaredDistance(a: Uint8Array, row: number, b: Uint8Array, word: number): number {
  let sum = 0;
  for (let k = 0; k < 128; k++) sum += (at(a, row * 128 + k) - at(b, word * 128 + k)) ** 2;
  return sum;
}

/** The first of the nearest among these words, by looking at each. */
function first(queries: Uint8Array, row: number, words: Uint8Array, names: Iterable<number>): number {
  let [best, least] = [-1, Infinity];
  for (const name of names) {
    const distance = squaredDistance(queries, row, words, name);
    if (distance < least || (distance === least && name < best)) [best, least] = [name, distance];
  }
  return best;
}

describe("nearest words", () => {
  test.each([1024, 8192, 16_384, 32_768, 65_536])("are those that Python finds among %i", { timeout: 60_000 }, (size) => {
    const { words, centres } = bundled.at(size);
    const search = new WordSearch(native, words, centres ?? undefined);
    expect(search.numWords).toBe(size);
    for (const name of goldenNames("sift", ".bin")) {
      const golden = goldenSift(name);
      expect(search.nearest(golden.descriptors)).toEqual(golden.words.get(size));
    }
  });

  test.each([
    [1, 256],
    [3, 256],
    [40, 60],
    [1500, 60],
    [700, 256],
  ])("are exact among %i words below %i", (count, limit) => {
    const words = rows(count, limit, count);
    words.copyWithin(128 * (count >> 1), 0, 128); // a word that is there twice
    const queries = new Uint8Array([...rows(60, limit, 9), ...words.subarray(0, 128), ...new Uint8Array(128).fill(255)]);
    const names = Array.from({ length: count }, (_, i) => i);
    const wanted = Array.from({ length: queries.length / 128 }, (_, i) => first(queries, i, words, names));
    expect(Array.from(new WordSearch(native, words).nearest(queries))).toEqual(wanted);
  });

  test("equally near words: the first is taken", () => {
    const words = new Uint8Array(6 * 128);
    words.fill(10, 2 * 128); // words 2 to 5 are the same, and 0 and 1
    const queries = new Uint8Array(3 * 128);
    queries.fill(9, 128, 2 * 128).fill(5, 2 * 128); // in the middle of both
    expect(Array.from(new WordSearch(native, words).nearest(queries))).toEqual([0, 2, 0]);
  });

  test("of many equally near words the first is taken, whichever bound is highest", () => {
    const next = numbers(3); // few columns differ, and by little: bounds are distances, up to rounding
    const flat = (count: number) => Uint8Array.from({ length: count * 128 }, (_, i) => (i % 128 < 12 ? next() >>> 30 : 7));
    const [words, queries] = [flat(900), flat(60)];
    const names = Array.from({ length: 900 }, (_, i) => i);
    const wanted = Array.from({ length: 60 }, (_, i) => first(queries, i, words, names));
    expect(Array.from(new WordSearch(native, words).nearest(queries))).toEqual(wanted);
  });

  test("with cells, a descriptor looks into the 64 whose middles are nearest", () => {
    const next = numbers(5); // without any order, so that the nearest word often lies elsewhere
    const random = (count: number) => Uint8Array.from({ length: count * 128 }, () => next() >>> 24);
    const [words, centres, queries] = [random(800), random(150), random(40)];
    const all = Array.from({ length: 150 }, (_, i) => i);
    const cells = new Map<number, number[]>(all.map((cell) => [cell, []]));
    for (let word = 0; word < 800; word++) cells.get(first(words, word, centres, all))?.push(word);
    const filled = all.filter((cell) => cells.get(cell)?.length !== 0);
    expect(filled.length).toBeGreaterThan(64);
    const wanted = Array.from({ length: 40 }, (_, i) => {
      const near = filled
        .map((cell) => [squaredDistance(queries, i, centres, cell), cell] as const)
        .sort((a, b) => a[0] - b[0] || a[1] - b[1])
        .slice(0, 64);
      return first(queries, i, words, near.flatMap(([, cell]) => cells.get(cell) ?? []));
    });
    const found = new WordSearch(native, words, centres).nearest(queries);
    expect(Array.from(found)).toEqual(wanted);
    expect(new WordSearch(native, words).nearest(queries)).not.toEqual(found);
  });

  test("many descriptors, none, and progress", () => {
    const search = new WordSearch(native, rows(100, 256, 1));
    const told: number[] = [];
    const many = rows(1300, 256, 2);
    const found = search.nearest(many, (done) => told.push(done));
    expect(told.at(-1)).toBe(1);
    expect(found.slice(1290)).toEqual(search.nearest(many.subarray(1290 * 128)));
    expect(search.nearest(new Uint8Array(0))).toEqual(new Uint32Array(0));
  });

  test("what is no dictionary is refused", () => {
    expect(() => new WordSearch(native, new Uint8Array(0))).toThrow(InvalidInput);
    expect(() => new WordSearch(native, new Uint8Array(100))).toThrow("words must have 128 bytes each, got 100 bytes.");
    expect(() => new WordSearch(native, new Uint8Array(128), new Uint8Array(128))).toThrow("fewer centres than words");
    const search = new WordSearch(native, new Uint8Array(256));
    expect(() => search.nearest(new Uint8Array(129))).toThrow(InvalidInput);
  });

  test("the middles of cells are the level of about four times the root", () => {
    const levels = [1024, 2048, 4096, 8192, 16_384, 32_768];
    expect(cellLevel(65_536, levels)).toBe(1024);
    expect(cellLevel(32_768, levels)).toBe(1024);
    expect(cellLevel(1_000_000, levels)).toBe(4096);
    expect(cellLevel(65_536, [16, 64])).toBe(64);
    expect(cellLevel(1024, levels)).toBe(null);
  });
});
