/** The sampler that releases are drawn with, and broken ones that an audit must catch. */

import { SecureRandom, SubsetMechanism, type RandomSource } from "@sfumato/device";

/** Answers a true word with a row of ω words. */
export type Sampler = (trueWords: Uint32Array) => Uint32Array;

/** A way to draw; `broken` says what is wrong with it, for people. */
export interface Kind {
  readonly name: string;
  readonly title: string;
  readonly broken: string;
  readonly make: (epsilon: number, numWords: number, subsetSize: number) => Sampler;
}

const secure = (): RandomSource => new SecureRandom();

/** The subset mechanism written naively, with places to break it. */
interface Naive {
  readonly chance: number;
  /** Words that are drawn beside the truth, for one true word. */
  readonly others: (truth: number, below: (bound: number) => number) => number[];
  readonly sorted: boolean;
}

function naive({ chance, others, sorted }: Naive, subsetSize: number): Sampler {
  const source = secure();
  const below = (bound: number): number => source.below(bound, 1)[0] ?? 0;
  return (trueWords) => {
    const rows = new Uint32Array(trueWords.length * subsetSize);
    trueWords.forEach((truth, row) => {
      const drawn = others(truth, below);
      const keep = below(2 ** 32) < chance * 2 ** 32;
      if (keep && !drawn.includes(truth)) drawn[below(subsetSize)] = truth;
      drawn.sort((a, b) => a - b);
      if (!sorted && drawn.includes(truth)) drawn.unshift(...drawn.splice(drawn.indexOf(truth), 1));
      rows.set(drawn, row * subsetSize);
    });
    return rows;
  };
}

/** ω different words of |K|, without the true one unless it may be among them. */
function distinct(numWords: number, subsetSize: number, withTruth: boolean): Naive["others"] {
  return (truth, below) => {
    const drawn = new Set<number>();
    while (drawn.size < subsetSize) {
      const word = below(numWords);
      if (withTruth || word !== truth) drawn.add(word);
    }
    return [...drawn];
  };
}

function subsetChance(epsilon: number, numWords: number, subsetSize: number): number {
  const favoured = subsetSize * Math.exp(epsilon);
  return favoured / (favoured + numWords - subsetSize);
}

export const KINDS: readonly [Kind, ...Kind[]] = [
  {
    name: "shipped",
    title: "the real one, of releases",
    broken: "",
    make: (epsilon, numWords, subsetSize) => {
      const [mechanism, source] = [new SubsetMechanism(epsilon, numWords, subsetSize), secure()];
      return (trueWords) => mechanism.draw(trueWords, source);
    },
  },
  {
    name: "more",
    title: "broken: 5 % more ε than it says",
    broken: "It draws with ε · 1.05.",
    make: (epsilon, numWords, subsetSize) => {
      const [mechanism, source] = [new SubsetMechanism(1.05 * epsilon, numWords, subsetSize), secure()];
      return (trueWords) => mechanism.draw(trueWords, source);
    },
  },
  {
    name: "second-chance",
    title: "broken: the true word has a second chance",
    broken: "It forgets to leave the true word out of the others.",
    make: (epsilon, numWords, subsetSize) =>
      naive({ chance: subsetChance(epsilon, numWords, subsetSize), others: distinct(numWords, subsetSize, true), sorted: true }, subsetSize),
  },
  {
    name: "first",
    title: "broken: the true word stands first",
    broken: "It forgets to sort: where the true word is sent, it is the first.",
    make: (epsilon, numWords, subsetSize) =>
      naive({ chance: subsetChance(epsilon, numWords, subsetSize), others: distinct(numWords, subsetSize, false), sorted: false }, subsetSize),
  },
  {
    name: "odds",
    title: "broken: odds of another mechanism",
    broken: "It keeps the true word with the odds of randomized response, which are those of one word sent.",
    make: (epsilon, numWords, subsetSize) =>
      naive({ chance: Math.exp(epsilon) / (Math.exp(epsilon) + numWords - 1), others: distinct(numWords, subsetSize, false), sorted: true }, subsetSize),
  },
  {
    name: "repeats",
    title: "broken: words are drawn twice",
    broken: "It draws the others with repetition: a row may hold a word twice.",
    make: (epsilon, numWords, subsetSize) =>
      naive(
        {
          chance: subsetChance(epsilon, numWords, subsetSize),
          others: (truth, below) => Array.from({ length: subsetSize }, () => { const word = below(numWords - 1); return word + Number(word >= truth); }),
          sorted: true,
        },
        subsetSize,
      ),
  },
  {
    name: "stream",
    title: "broken: the same noise every time",
    broken: "Its generator starts from the same number every time: who knows it subtracts the noise.",
    make: (epsilon, numWords, subsetSize) => {
      const mechanism = new SubsetMechanism(epsilon, numWords, subsetSize);
      const source = knownSource();
      return (trueWords) => mechanism.draw(trueWords, source);
    },
  },
];

/** Good numbers from a known beginning: xorshift128. */
function knownSource(): RandomSource {
  const state = Uint32Array.of(123456789, 362436069, 521288629, 88675123);
  const next = (): number => {
    const t = (state[0] ?? 0) ^ ((state[0] ?? 0) << 11);
    state.copyWithin(0, 1);
    const w = state[2] ?? 0;
    state[3] = w ^ (w >>> 19) ^ t ^ (t >>> 8);
    return state[3];
  };
  const below = (bound: number, count: number): Uint32Array => Uint32Array.from({ length: count }, () => Math.floor((next() / 2 ** 32) * bound));
  const coin = ({ bits, threshold }: { readonly bits: number; readonly threshold: bigint }, count: number): Uint8Array => {
    const limit = Number(threshold >> BigInt(bits - 32));
    return Uint8Array.from({ length: count }, () => Number(next() < limit));
  };
  return { reproducible: false, below, coin };
}
