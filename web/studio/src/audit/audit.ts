/** Does a sampler keep the ε it claims? The checks of `sfumato audit` that fit into a page. */

import { clopperPearson, ratioInterval } from "./interval.ts";
import { KINDS, type Sampler } from "./samplers.ts";

export interface Claim {
  readonly kind: string;
  readonly epsilon: number;
  readonly numWords: number;
  readonly subsetSize: number;
}

export interface Check {
  readonly name: string;
  readonly passed: boolean;
  readonly detail: string;
}

/** What is known after so many draws per input. */
export interface Look {
  readonly draws: number;
  readonly low: number;
  readonly high: number;
  readonly checks: readonly Check[];
  readonly isBroken: boolean;
}

/** Of one look: a correct sampler is called broken so rarely by each statistical check. */
export const ALPHA = 1e-6;
const STREAM = 256;
const SMALL_WORDS = 6;
const SMALL_DRAWS = 300_000; // enough for every fault that the order of words can have

export class Audit {
  readonly #claim: Claim;
  readonly #draw: Sampler;
  readonly #small: { readonly draw: Sampler; readonly subsetSize: number };
  readonly #hits: [number, number] = [0, 0];
  readonly #counts = new Map<number, [number, number]>();
  readonly #streams: Check;
  #sent = 0;
  #draws = 0;
  #smallDraws = 0;
  #refused = "";

  constructor(claim: Claim) {
    this.#claim = claim;
    const { epsilon, numWords, subsetSize } = claim;
    const kind = KINDS.find(({ name }) => name === claim.kind) ?? KINDS[0];
    this.#draw = kind.make(epsilon, numWords, subsetSize);
    // Every output as it is sent, in a world so small that each comes often: ε = 1.
    const size = Math.min(subsetSize, 3);
    this.#small = { draw: kind.make(1, SMALL_WORDS, size), subsetSize: size };
    this.#streams = streams(() => kind.make(epsilon, numWords, subsetSize), claim);
  }

  /** Draw so many more per input. */
  step(count: number): void {
    const { numWords, subsetSize } = this.#claim;
    for (const input of [0, 1] as const) {
      const rows = this.#draw(new Uint32Array(count).fill(input));
      for (let row = 0; row < count; row++) {
        let [has0, has1, before] = [false, false, -1];
        for (let i = row * subsetSize; i < (row + 1) * subsetSize; i++) {
          const word = rows[i] ?? 0;
          if (word <= before || word >= numWords) this.#refused = "a row is not in strictly increasing order, so it cannot be sent";
          before = word;
          has0 ||= word === 0;
          has1 ||= word === 1;
        }
        if (has0 && !has1) this.#hits[input]++; // {0 ∈ Z, 1 ∉ Z}: its ratio is e^ε
        if (input === 0 && has0) this.#sent++;
      }
      if (this.#smallDraws < SMALL_DRAWS) this.#histogram(input, count);
    }
    this.#draws += count;
    if (this.#smallDraws < SMALL_DRAWS) this.#smallDraws += count;
  }

  #histogram(input: 0 | 1, count: number): void {
    const { draw, subsetSize } = this.#small;
    const rows = draw(new Uint32Array(count).fill(input));
    for (let row = 0; row < count; row++) {
      let name = 0; // the row as one number, in its order
      for (let i = row * subsetSize; i < (row + 1) * subsetSize; i++) name = name * SMALL_WORDS + (rows[i] ?? 0);
      const counts = this.#counts.get(name) ?? [0, 0];
      counts[input]++;
      this.#counts.set(name, counts);
    }
  }

  look(): Look {
    const { epsilon } = this.#claim;
    const [first, second] = this.#hits;
    const [low, high] = ratioInterval(first, second, this.#draws, ALPHA);
    const checks = [
      { name: "target event", passed: low <= epsilon && epsilon <= high, detail: `ε between ${figure(low)} and ${figure(high)} measured, ${figure(epsilon)} claimed` },
      this.#truth(),
      this.#worst(),
      this.#streams,
    ];
    return { draws: this.#draws, low, high, checks, isBroken: checks.some(({ passed }) => !passed) };
  }

  /** How often the true word is sent, from both sides: too rarely is a bug as well. */
  #truth(): Check {
    const { epsilon, numWords, subsetSize } = this.#claim;
    const favoured = subsetSize * Math.exp(epsilon);
    const share = favoured / (favoured + numWords - subsetSize);
    const [low, high] = clopperPearson(this.#sent, this.#draws, ALPHA);
    return { name: "truth share", passed: low <= share && share <= high, detail: `sent with probability ${share.toFixed(4)}, measured ${low.toFixed(4)} to ${high.toFixed(4)}` };
  }

  /** The output, as it is sent, that tells two inputs apart best. */
  #worst(): Check {
    const alpha = ALPHA / (4 * this.#counts.size);
    const ratios = [...this.#counts.values()].flatMap(([one, other]) => {
      const [a, b] = [clopperPearson(one, this.#smallDraws, alpha), clopperPearson(other, this.#smallDraws, alpha)];
      return [a[0] / b[1], b[0] / a[1]];
    });
    const worst = Math.log(Math.max(1, ...ratios));
    if (this.#refused !== "") return { name: "histogram", passed: false, detail: this.#refused };
    return { name: "histogram", passed: worst <= 1, detail: `${this.#counts.size} outputs in a small world at ε = 1: the worst ratio is surely above e^${worst.toFixed(3)}` };
  }
}

/** Two devices that answer the same questions must not answer alike. */
function streams(make: () => Sampler, { numWords }: Claim): Check {
  const words = Uint32Array.from({ length: STREAM }, (_, i) => i % numWords);
  const same = make()(words).join() === make()(words).join();
  return { name: "streams", passed: !same, detail: same ? "two devices gave the same noise" : "two devices gave different noise" };
}

export function figure(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toFixed(3))) : value > 0 ? "∞" : "−∞";
}
