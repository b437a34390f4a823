import { expect, test, vi } from "vitest";
import { InvalidInput } from "../../src/errors.ts";
import { SecureRandom, WordSource, drawDistinct } from "../../src/privacy/randomness.ts";

/** Words from a list, to see which of them are rejected. */
class Listed extends WordSource {
  readonly reproducible = true;
  readonly #list: number[];

  constructor(list: number[]) {
    super();
    this.#list = list;
  }

  protected words(count: number): Uint32Array {
    if (this.#list.length < count) throw new Error("the list of words is used up");
    return Uint32Array.from(this.#list.splice(0, count));
  }
}

test("a word in the short remainder of 2^32 is rejected and drawn again", () => {
  // 2^32 mod 3 = 1: only the word 0 has a low half below 1.
  expect([...new Listed([0, 2 ** 31, 0, 2 ** 32 - 1]).below(3, 2)]).toEqual([2, 1]);
});

test("every index has the same number of words", () => {
  // The high half of word·bound is exact for every bound; compare with whole numbers.
  const rng = new SecureRandom();
  for (const bound of [1, 2, 3, 1000, 65_535, 16_777_216, 2 ** 31 + 1, 2 ** 32]) {
    const list = [...rng.below(2 ** 32, 200), 2 ** 32 - 1];
    for (const word of list) {
      const product = BigInt(word) * BigInt(bound);
      if ((product & 0xffffffffn) < BigInt(2 ** 32 % bound)) continue;
      expect(new Listed([word]).below(bound, 1)[0]).toBe(Number(product >> 32n));
    }
  }
});

test.each([
  [0n, 64, [0, 0], 0],
  [1n, 64, [0, 0], 1],
  [1n, 64, [1, 0], 0],
  [1n << 32n, 64, [0xffffffff, 0], 1],
  [1n << 32n, 64, [0, 1], 0],
  [1n << 64n, 64, [0xffffffff, 0xffffffff], 1],
  [(1n << 64n) + 5n, 128, [1, 0, 4, 0], 1],
  [(1n << 64n) + 5n, 128, [1, 0, 5, 0], 0],
  [(1n << 64n) + 5n, 128, [0, 0, 0xffffffff, 0xffffffff], 1],
] as const)("threshold %i of %i bits with words %j shows %i", (threshold, bits, words, heads) => {
  expect([...new Listed([...words]).coin({ threshold, bits }, 1)]).toEqual([heads]);
});

test("a coin with other bits than multiples of 64 is refused", () => {
  expect(() => new SecureRandom().coin({ threshold: 1n, bits: 32 }, 1)).toThrow(InvalidInput);
});

test("blocks follow each other without a repetition", () => {
  const rng = new SecureRandom();
  const drawn = rng.below(2 ** 32, 50_000);
  expect(new Set(drawn).size).toBeGreaterThan(49_900);
  expect(new Set(rng.below(2 ** 32, 50_000)).size).toBeGreaterThan(49_900);
});

test("what was handed out is wiped", () => {
  const blocks: Uint32Array[] = [];
  const fill = crypto.getRandomValues.bind(crypto);
  const spy = vi.spyOn(crypto, "getRandomValues").mockImplementation((block) => {
    blocks.push(block as unknown as Uint32Array);
    return fill(block);
  });
  try {
    new SecureRandom().below(2 ** 32, 1000);
  } finally {
    spy.mockRestore();
  }
  expect(blocks).toHaveLength(1);
  expect(blocks[0]?.subarray(0, 1000).every((word) => word === 0)).toBe(true);
  expect(blocks[0]?.subarray(1000).some((word) => word !== 0)).toBe(true);
});

test("every set of distinct numbers is equally likely", () => {
  const columns = drawDistinct(4, 2, 60_000, new SecureRandom());
  const counts = new Map<string, number>();
  for (let row = 0; row < 60_000; row++) {
    const key = columns.map((column) => column[row] ?? -1).sort().join(" ");
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  expect(counts.size).toBe(6);
  for (const count of counts.values()) expect(Math.abs(count - 10_000)).toBeLessThan(6 * Math.sqrt(10_000));
});
