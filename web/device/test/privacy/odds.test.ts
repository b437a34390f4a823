import { describe, expect, test } from "vitest";
import { InvalidInput } from "../../src/errors.ts";
import { asWritten, chanceOf, expBounds, subsetCoin } from "../../src/privacy/odds.ts";
import { goldenJson } from "../golden.ts";

interface Told {
  epsilon: number;
  num_words: number;
  subset_size: number;
  threshold: string;
  bits: number;
}

const told = goldenJson("device/thresholds.json") as Told[];

test("thresholds are Python's, for more than a hundred ε, |K| and ω", () => {
  expect(told.length).toBeGreaterThan(100);
  for (const one of told) {
    const coin = subsetCoin(one.epsilon, one.num_words, one.subset_size);
    expect({ ...one, threshold: coin.threshold.toString(), bits: coin.bits }).toEqual(one);
  }
});

test.each([
  [0.1, 1n, 10n],
  [8, 8n, 1n],
  [1e-9, 1n, 1_000_000_000n],
  [1e21, 10n ** 21n, 1n],
  [1.5e-7, 15n, 10n ** 8n],
])("%f is the decimal that was written", (value, over, under) => {
  const found = asWritten(value);
  expect(found.over * under).toBe(over * found.under);
});

test.each([1e-9, 0.001, 0.5, 1, Math.LN2, 10, 64])("e^%f is enclosed", (epsilon) => {
  const { low, high } = expBounds(epsilon);
  // The series of e^x, summed in fractions until its rest is far below the enclosure.
  const [x, unit] = [asWritten(epsilon), 10n ** 160n];
  let [sum, term] = [unit, unit];
  for (let i = 1n; term > 0n; i++) {
    term = (term * x.over) / (x.under * i);
    sum += term;
  }
  expect(low.over * unit < sum * low.under).toBe(true);
  expect(high.over * unit > (sum + 1000n) * high.under).toBe(true);
  expect((high.over * low.under - low.over * high.under) * 10n ** 75n < low.over * high.under).toBe(true);
});

describe("a coin", () => {
  test.each(told.map((one) => [one.epsilon, one.num_words, one.subset_size]))(
    "at ε = %f, %i words, ω = %i keeps both ratios within e^ε, and close to it",
    (epsilon, numWords, subsetSize) => {
      const coin = subsetCoin(epsilon, numWords, subsetSize);
      const { low, high } = expBounds(epsilon);
      const heads = coin.threshold * BigInt(numWords - subsetSize);
      const tails = ((1n << BigInt(coin.bits)) - coin.threshold) * BigInt(subsetSize);
      expect(heads * low.under <= low.over * tails).toBe(true);
      expect(tails * low.under <= low.over * heads).toBe(true);
      expect(heads * high.under * (1n << 38n) >= tails * high.over * ((1n << 38n) - 1n)).toBe(true);
    },
  );

  test("always keeps the true word where ε is infinite", () => {
    expect(chanceOf(subsetCoin(Infinity, 100, 1))).toBe(1);
  });

  test("is refused where no finite number of bits is enough", () => {
    expect(() => subsetCoin(5e-324, 100, 1)).toThrow(InvalidInput);
  });
});
