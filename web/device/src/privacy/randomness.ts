/**
 * The only source of randomness in a release: the browser's own generator, through WebCrypto.
 *
 * Mechanisms with a guarantee call `coin` and `below` and nothing else. That is what lets a test
 * put an enumerating source in their place and read off the exact law of the shipped sampler.
 */
import { at } from "../checks.ts";
import { InvalidInput, Missing } from "../errors.ts";
import type { Coin } from "./odds.ts";

/** Exact draws: the two that mechanisms are made of. */
export interface RandomSource {
  /** True where a known seed is behind it; what is made with it never leaves. */
  readonly reproducible: boolean;
  /** Toss `coin` count times: 1 for heads. */
  coin(coin: Coin, count: number): Uint8Array;
  /** `count` integers uniform on {0, …, bound − 1}. */
  below(bound: number, count: number): Uint32Array;
}

/** The same draws from uniform 32-bit words, whoever makes these. */
export abstract class WordSource implements RandomSource {
  abstract readonly reproducible: boolean;

  /** Return `count` independent uniform words of 32 bits. */
  protected abstract words(count: number): Uint32Array;

  /**
   * An integer comparison, exact to the last bit: heads where the number that the words make is
   * below the threshold. Every word is looked at, whatever the first ones decided.
   */
  coin(coin: Coin, count: number): Uint8Array {
    const limbs = thresholdLimbs(coin);
    const heads = new Uint8Array(count);
    const drawn = this.words(count * limbs.length);
    if (coin.threshold === 1n << BigInt(coin.bits)) return heads.fill(1);
    for (let toss = 0; toss < count; toss++) {
      let [less, equal] = [0, 1];
      for (let i = 0; i < limbs.length; i += 2) {
        // Two words make a number of 64 bits, its low half first; such numbers come high to low.
        for (const half of [i + 1, i]) {
          const word = at(drawn, toss * limbs.length + half);
          const limb = at(limbs, half);
          less |= equal & Number(word < limb);
          equal &= Number(word === limb);
        }
      }
      heads[toss] = less;
    }
    return heads;
  }

  /**
   * No modulo bias: the high half of word·bound is the draw (Lemire's method); a word whose low
   * half falls in the short remainder of 2^32 mod bound is rejected and drawn again.
   */
  below(bound: number, count: number): Uint32Array {
    if (!(Number.isInteger(bound) && bound >= 1 && bound <= 2 ** 32)) {
      throw new InvalidInput(`bound must be between 1 and 2^32, got ${bound}.`);
    }
    const out = this.words(count);
    const remainder = 2 ** 32 % bound;
    let rejected: number[] = [];
    for (let i = 0; i < count; i++) if (multiply(out, i, at(out, i), bound) < remainder) rejected.push(i);
    while (rejected.length > 0) {
      const again = this.words(rejected.length);
      rejected = rejected.filter((place, i) => multiply(out, place, at(again, i), bound) < remainder);
    }
    return out;
  }
}

/** Write the high half of word·bound to out[place] and return the low half; exact in doubles. */
function multiply(out: Uint32Array, place: number, word: number, bound: number): number {
  const low = (word & 0xffff) * bound;
  const high = (word >>> 16) * bound + Math.floor(low / 65536);
  out[place] = Math.floor(high / 65536);
  return (high % 65536) * 65536 + (low % 65536);
}

/** The threshold in words of 32 bits, in the order in which the words of a toss are drawn. */
function thresholdLimbs(coin: Coin): Uint32Array {
  if (coin.bits <= 0 || coin.bits % 64 !== 0 || coin.threshold < 0n || coin.threshold > 1n << BigInt(coin.bits)) {
    throw new InvalidInput(
      `a coin needs a threshold between 0 and 2^bits and bits in multiples of 64, got bits=${coin.bits}.`,
    );
  }
  const count = coin.bits / 32;
  return Uint32Array.from({ length: count }, (_, i) => {
    const rank = count - 2 - (i & ~1) + (i & 1); // how many words are less significant
    return Number((coin.threshold >> BigInt(32 * rank)) & 0xffffffffn);
  });
}

const BLOCK = 65_536 / 4; // the most that getRandomValues gives at once, in words

/** Randomness for releases: `crypto.getRandomValues` in blocks, wiped as it is handed out. */
export class SecureRandom extends WordSource {
  readonly reproducible = false;
  readonly #crypto: Crypto;
  readonly #block = new Uint32Array(BLOCK);
  #used = BLOCK;

  constructor() {
    super();
    const found = (globalThis as { crypto?: Crypto }).crypto;
    if (typeof found?.getRandomValues !== "function") {
      throw new Missing("releases need the browser's secure randomness (crypto.getRandomValues), which is missing here.");
    }
    this.#crypto = found;
  }

  protected words(count: number): Uint32Array {
    const out = new Uint32Array(count);
    let done = 0;
    while (done < count) {
      if (this.#used === BLOCK) {
        this.#crypto.getRandomValues(this.#block);
        this.#used = 0;
      }
      const take = Math.min(count - done, BLOCK - this.#used);
      const fresh = this.#block.subarray(this.#used, this.#used + take);
      out.set(fresh, done);
      fresh.fill(0);
      this.#used += take;
      done += take;
    }
    return out;
  }
}

/**
 * For each of `count` rows, `size` different numbers below `bound`, as `size` columns.
 *
 * Floyd's sampling: exactly `size` draws, none of them repeated, so the work does not depend on
 * what was drawn. As a set the numbers are uniform; their order is not.
 */
export function drawDistinct(bound: number, size: number, count: number, source: RandomSource): Uint32Array[] {
  const columns: Uint32Array[] = [];
  for (let last = bound - size; last < bound; last++) {
    const column = source.below(last + 1, count);
    for (let row = 0; row < count; row++) {
      const drawn = at(column, row);
      let taken = 0;
      for (const earlier of columns) taken |= Number(earlier[row] === drawn);
      column[row] = drawn + (last - drawn) * taken;
    }
    columns.push(column);
  }
  return columns;
}
