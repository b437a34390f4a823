/** The exact output law of the shipped sampler, by enumeration, in fractions of whole numbers. */
import type { Coin, Fraction } from "../../src/privacy/odds.ts";
import type { RandomSource } from "../../src/privacy/randomness.ts";

type Draw = { readonly bound: number } | { readonly coin: Coin };

/** Anything that answers inputs 0 … n − 1 with rows of whole numbers. */
export interface Sampler {
  draw(trueWords: Uint32Array, source: RandomSource): Uint32Array;
}

/** Answers every draw from a script, one outcome for each; records which draws were asked for. */
class Scripted implements RandomSource {
  readonly reproducible = true;
  readonly asked: Draw[] = [];
  readonly #outcomes: readonly number[];

  constructor(outcomes: readonly number[]) {
    this.#outcomes = outcomes;
  }

  #next(draw: Draw, count: number): number {
    if (count !== 1) throw new Error("the law is enumerated one row at a time");
    this.asked.push(draw);
    return this.#outcomes[this.asked.length - 1] ?? 0;
  }

  coin(coin: Coin, count: number): Uint8Array {
    return Uint8Array.of(this.#next({ coin }, count));
  }

  below(bound: number, count: number): Uint32Array {
    return Uint32Array.of(this.#next({ bound }, count));
  }
}

/** Every output to one input with its exact probability, all over one common denominator. */
export function outputLaw(sampler: Sampler, value: number): Map<string, Fraction> {
  const first = new Scripted([]);
  sampler.draw(Uint32Array.of(value), first);
  const draws = first.asked;
  const law = new Map<string, Fraction>();
  let under = 1n;
  for (const draw of draws) under *= "coin" in draw ? 1n << BigInt(draw.coin.bits) : BigInt(draw.bound);
  const outcomes = draws.map(() => 0);
  for (;;) {
    const source = new Scripted(outcomes);
    const row = sampler.draw(Uint32Array.of(value), source).join(" ");
    if (JSON.stringify(source.asked, bigText) !== JSON.stringify(draws, bigText)) {
      throw new Error("the sampler's draws depend on what was drawn; its work is not constant");
    }
    let over = 1n;
    draws.forEach((draw, i) => {
      if ("coin" in draw) over *= outcomes[i] === 1 ? draw.coin.threshold : (1n << BigInt(draw.coin.bits)) - draw.coin.threshold;
    });
    law.set(row, { over: (law.get(row)?.over ?? 0n) + over, under });
    let place = 0;
    while (place < draws.length) {
      const draw = draws[place];
      const many = draw !== undefined && "bound" in draw ? draw.bound : 2;
      outcomes[place] = (outcomes[place] ?? 0) + 1;
      if (outcomes[place] !== many) break;
      outcomes[place++] = 0;
    }
    if (place === draws.length) return law;
  }
}

/** The largest Pr(z|v)/Pr(z|v′) over all outputs and inputs; null if one is infinite. */
export function worstRatio(laws: readonly Map<string, Fraction>[]): Fraction | null {
  let worst: Fraction = { over: 0n, under: 1n };
  for (const output of new Set(laws.flatMap((law) => [...law.keys()]))) {
    const chances = laws.map((law) => law.get(output)?.over ?? 0n);
    const least = chances.reduce((a, b) => (a < b ? a : b));
    const most = chances.reduce((a, b) => (a > b ? a : b));
    if (least === 0n) return null;
    if (most * worst.under > worst.over * least) worst = { over: most, under: least };
  }
  return worst;
}

export function atMost(a: Fraction, b: Fraction): boolean {
  return a.over * b.under <= b.over * a.under;
}

function bigText(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
