import { describe, expect, test } from "vitest";
import { InvalidInput } from "../../src/errors.ts";
import { Composition, type PrivateAnswers } from "../../src/privacy/accounting.ts";
import { convolve } from "../../src/privacy/convolve.ts";
import { expBounds, type Fraction } from "../../src/privacy/odds.ts";
import { goldenJson } from "../golden.ts";

interface Told {
  answers: [number, number | null, number, number][];
  largest: number;
  advantage: number;
  epsilon: Record<string, number>;
  delta: Record<string, number>;
}

function answersOf(told: Told): PrivateAnswers[] {
  return told.answers.map(([epsilon, numValues, subsetSize, count]) => ({ epsilon, numValues, subsetSize, count }));
}

const golden = goldenJson("device/compositions.json") as Told[];

describe.each(golden.map((told) => [JSON.stringify(told.answers).slice(0, 60), told] as const))("%s", (_, told) => {
  const whole = new Composition(answersOf(told));

  test("has Python's N·ε, to the last bit", () => {
    expect(whole.largest).toBe(told.largest);
  });

  test("has Python's E, δ and advantage, to the digits that are printed", () => {
    const pairs = [
      [whole.advantage, told.advantage],
      ...Object.entries(told.epsilon).map(([delta, epsilon]) => [whole.epsilon(Number(delta)), epsilon]),
      ...Object.entries(told.delta).map(([epsilon, delta]) => [whole.delta(Number(epsilon)), delta]),
    ] as [number, number][];
    // A long convolution carries its absolute error along: what it may be wrong by is added.
    for (const [here, there] of pairs) expect(Math.abs(here - there)).toBeLessThanOrEqual(1e-7 * there + 1e-9);
  });
});

/** δ(E) of N answers in fractions, with e^ε from below: at or below the true δ. */
function exactDelta(answer: PrivateAnswers, target: number): number {
  const { low }: { low: Fraction } = expBounds(answer.epsilon);
  const [size, words] = [BigInt(answer.subsetSize), BigInt(answer.numValues ?? 2)];
  const all = (size * low.over + (words - size) * low.under) * (words - 1n);
  const gain = size * low.over * (words - size);
  const loss = (words - size) * low.under * size;
  const chances = [loss, all - gain - loss, gain];
  let sums = [1n];
  for (let i = 0; i < answer.count; i++) {
    const next = Array.from({ length: sums.length + 2 }, () => 0n);
    sums.forEach((sum, j) => {
      chances.forEach((chance, k) => {
        next[j + k] = (next[j + k] ?? 0n) + sum * chance;
      });
    });
    sums = next;
  }
  const under = all ** BigInt(answer.count);
  let total = 0;
  sums.forEach((sum, i) => {
    const above = (i - answer.count) * answer.epsilon - target;
    if (above > 0) total += (Number((sum << 200n) / under) / 2 ** 200) * -Math.expm1(-above);
  });
  return total;
}

test.each([
  { epsilon: 1, numValues: 2, subsetSize: 1, count: 8 },
  { epsilon: 0.3, numValues: 6, subsetSize: 3, count: 20 },
  { epsilon: 4, numValues: 1024, subsetSize: 2, count: 12 },
  { epsilon: 8, numValues: 8192, subsetSize: 1, count: 40 },
])("δ of %j is never below the truth and hardly above", (answer) => {
  const whole = new Composition([answer]);
  for (const share of [0, 0.1, 0.4, 0.7, 0.95]) {
    const target = share * whole.largest;
    const truth = exactDelta(answer, target);
    expect(whole.delta(target)).toBeGreaterThanOrEqual(truth * (1 - 1e-14));
    expect(whole.delta(target)).toBeLessThanOrEqual(truth * (1 + 1e-10) + 1e-30);
    if (truth > 1e-12 && truth < 1) expect(whole.epsilon(truth * (1 + 1e-9))).toBeLessThanOrEqual(target + 1e-6);
  }
});

test("a long convolution is right within the error it says", () => {
  const [first, second] = [1, 2].map((k) => Float64Array.from({ length: 1500 * k }, (_, i) => ((i * 37) % 101) / 9e4));
  if (first === undefined || second === undefined) throw new Error("unreachable");
  const { sums, error } = convolve(first, second);
  expect(error).toBeGreaterThan(0);
  let difference = 0;
  for (let i = 0; i < sums.length; i += 50) {
    let truth = 0;
    for (let j = Math.max(0, i - second.length + 1); j <= Math.min(i, first.length - 1); j++) {
      truth += (first[j] ?? 0) * (second[i - j] ?? 0);
    }
    difference += Math.abs(truth - (sums[i] ?? 0));
  }
  expect(difference).toBeLessThan(error);
});

test("more answers are never a better promise", () => {
  const answer = { epsilon: 2, numValues: 64, subsetSize: 1, count: 5 };
  const few = new Composition([answer]);
  const more = few.plus([{ ...answer, epsilon: 1.5, count: 3 }]);
  expect(more.epsilon()).toBeGreaterThan(few.epsilon());
  expect(more.advantage).toBeGreaterThan(few.advantage);
  expect(few.plus([{ ...answer, count: 1 }]).numAnswers).toBe(6);
});

test("an answer without a guarantee promises nothing", () => {
  const bare = new Composition([{ epsilon: Infinity, numValues: 64, subsetSize: 1, count: 1 }]);
  expect([bare.largest, bare.epsilon(), bare.advantage]).toEqual([Infinity, Infinity, 1]);
});

test.each([
  [{ epsilon: 0, numValues: 2, subsetSize: 1, count: 1 }],
  [{ epsilon: NaN, numValues: 2, subsetSize: 1, count: 1 }],
  [{ epsilon: 1, numValues: 1, subsetSize: 1, count: 1 }],
  [{ epsilon: 1, numValues: 4, subsetSize: 4, count: 1 }],
  [{ epsilon: 1, numValues: 4, subsetSize: 1, count: -1 }],
])("%j is refused", (answer) => {
  expect(() => new Composition([answer])).toThrow(InvalidInput);
});

test.each([0, 1, -0.1, NaN])("δ = %f is refused", (delta) => {
  expect(() => new Composition([]).epsilon(delta)).toThrow(InvalidInput);
});
