import { describe, expect, test } from "vitest";
import { InvalidInput } from "../../src/errors.ts";
import { expBounds } from "../../src/privacy/odds.ts";
import { SecureRandom } from "../../src/privacy/randomness.ts";
import { SubsetMechanism } from "../../src/privacy/subset.ts";
import { goldenJson } from "../golden.ts";
import { atMost, outputLaw, worstRatio } from "./law.ts";
import { SeededRandom } from "./seeded.ts";

interface Told {
  seed: number;
  epsilon: number | "inf";
  num_words: number;
  subset_size: number;
  true_words: number[];
  rows: number[][];
}

const worlds = [0.5, 1.3, 4].flatMap((epsilon) =>
  [2, 3, 4, 5, 6].flatMap((numWords) =>
    [1, 2, 3].filter((size) => size < numWords).map((size) => [epsilon, numWords, size] as const),
  ),
);

describe.each(worlds)("the exact law at ε = %f, %i words, ω = %i", (epsilon, numWords, size) => {
  const mechanism = new SubsetMechanism(epsilon, numWords, size);
  const laws = Array.from({ length: numWords }, (_, value) => outputLaw(mechanism, value));

  test("has mass one", () => {
    for (const law of laws) {
      const [first] = law.values();
      expect([...law.values()].reduce((sum, { over }) => sum + over, 0n)).toBe(first?.under);
    }
  });

  test("has a worst ratio of at most e^ε, and not much less", () => {
    const worst = worstRatio(laws);
    const { low, high } = expBounds(epsilon);
    expect(worst).not.toBeNull();
    if (worst === null) return;
    expect(atMost(worst, low)).toBe(true);
    expect(atMost({ over: high.over * ((1n << 32n) - 1n), under: high.under << 32n }, worst)).toBe(true);
  });
});

test("the law notices a sampler with more than ε", () => {
  const stronger = new SubsetMechanism(1.001, 4, 1);
  const laws = [0, 1, 2, 3].map((value) => outputLaw(stronger, value));
  const worst = worstRatio(laws);
  expect(worst !== null && atMost(worst, expBounds(1).low)).toBe(false);
});

test.each(goldenJson("device/draws.json") as Told[])("seed $seed draws the rows that Python draws", (told) => {
  const epsilon = told.epsilon === "inf" ? Infinity : told.epsilon;
  const mechanism = new SubsetMechanism(epsilon, told.num_words, told.subset_size);
  const rows = mechanism.draw(Uint32Array.from(told.true_words), new SeededRandom(told.seed));
  expect([...rows]).toEqual(told.rows.flat());
});

test("rows of real draws are sorted, without repetition, and below |K|", () => {
  const mechanism = new SubsetMechanism(2, 50, 7);
  const rows = mechanism.draw(new Uint32Array(20_000).fill(3), new SecureRandom());
  expect(rows.every((word, i) => word < 50 && (i % 7 === 0 || word > (rows[i - 1] ?? 0)))).toBe(true);
});

test("the true word is sent as often as said", () => {
  const mechanism = new SubsetMechanism(3, 64, 1);
  const draws = 200_000;
  const sent = mechanism.draw(new Uint32Array(draws).fill(9), new SecureRandom()).filter((word) => word === 9).length;
  const expected = mechanism.keepProbability;
  const spread = Math.sqrt((expected * (1 - expected)) / draws);
  expect(Math.abs(sent / draws - expected)).toBeLessThan(6 * spread);
});

test.each([
  [0, 10, 1],
  [-1, 10, 1],
  [NaN, 10, 1],
  [65, 10, 1],
  [1, 1, 1],
  [1, 10, 10],
  [1, 10, 0],
  [1, 10, 1.5],
])("ε = %f with %f words and ω = %f is refused", (epsilon, numWords, size) => {
  expect(() => new SubsetMechanism(epsilon, numWords, size)).toThrow(InvalidInput);
});
