/**
 * Distributions of privacy losses, and what their sums promise.
 *
 * The privacy loss of an answer z is log Pr(z | x) / Pr(z | x′) for two inputs. Losses of
 * independent answers add up. A sum L of them promises (E, δ) for every E, with
 *
 *     δ(E) = Σ_l Pr(L = l)·(1 − e^(E − l))₊ .
 *
 * Everything is kept in non-negative numbers that are only added and multiplied, so each one is
 * right to a relative error that is carried along; what was cut off, or is uncertain because a
 * long convolution went through a Fourier transform, is carried along too: a result is never
 * below the truth.
 */
import { at } from "../checks.ts";
import { convolve } from "./convolve.ts";

const ROUNDING = Number.EPSILON;
const CUT = 1e-34; // probability that may be cut from each end of a distribution

/** Pr(L = (first + i)·step) for i = 0, 1, … */
export class LossDistribution {
  readonly step: number;
  readonly first: number;
  readonly chances: Float64Array;
  /** What may be missing from the table or wrong in it, as a sum of probabilities. */
  readonly cut: number;
  /** Every entry is within this factor of the truth, up or down. */
  readonly relative: number;

  constructor(step: number, first: number, chances: Float64Array, cut = 0, relative = 0) {
    this.step = step;
    this.first = first;
    this.chances = chances;
    this.cut = cut;
    this.relative = relative;
  }

  /** No answer: no loss. */
  static nothing(step = 1): LossDistribution {
    return new LossDistribution(step, 0, Float64Array.of(1));
  }

  /** The loss of two independent answers; both must have the same step. */
  plus(other: LossDistribution): LossDistribution {
    const { sums, error } = convolve(this.chances, other.chances);
    const terms = Math.min(this.chances.length, other.chances.length);
    return new LossDistribution(
      this.step,
      this.first + other.first,
      sums,
      this.cut + other.cut + error,
      this.relative + other.relative + 2 * (terms + 1) * ROUNDING,
    ).withoutTails();
  }

  /** The loss of `count` independent answers, by repeated doubling. */
  times(count: number): LossDistribution {
    let total: LossDistribution | undefined;
    let power: LossDistribution | undefined;
    for (let left = count; left >= 1; left = Math.floor(left / 2)) {
      power = power === undefined ? this : power.plus(power);
      if (left % 2 === 1) total = total === undefined ? power : total.plus(power);
    }
    return total ?? LossDistribution.nothing(this.step);
  }

  /** The same without its ends, as far as they hardly count beside what is cut already. */
  withoutTails(): LossDistribution {
    const little = Math.max(CUT, this.cut / 16);
    const low = ending(this.chances, little, 0, 1);
    const high = ending(this.chances, little, this.chances.length - 1, -1);
    if (low + high >= this.chances.length || low + high === 0) return this;
    const kept = this.chances.slice(low, this.chances.length - high);
    return new LossDistribution(this.step, this.first + low, kept, this.cut + 2 * little, this.relative);
  }

  /**
   * The same losses on multiples of another step.
   *
   * Each chance is divided between its two neighbours on the grid so that its probability under
   * both inputs stays the same. That spreads the likelihood ratio, so no promise gets better, and
   * moves δ only in the second order of the step.
   */
  onGrid(step: number): LossDistribution {
    const place = (i: number): number => ((this.first + i) * this.step) / step;
    const first = Math.floor(place(0));
    const chances = new Float64Array(Math.floor(place(this.chances.length - 1)) - first + 2);
    this.chances.forEach((chance, i) => {
      const exact = place(i);
      const below = Math.floor(exact);
      // Of a loss l between a and b = a + step: (1 − e^(a−l)) / (1 − e^(a−b)) goes up.
      const up = Math.expm1(-(exact - below) * step) / Math.expm1(-step);
      chances[below - first] = at(chances, below - first) + chance * (1 - up);
      chances[below - first + 1] = at(chances, below - first + 1) + chance * up;
    });
    return new LossDistribution(step, first, chances, this.cut, this.relative + 16 * ROUNDING).withoutTails();
  }

  /** δ(E), rounded up. */
  delta(epsilon: number): number {
    let total = 0;
    this.chances.forEach((chance, i) => {
      const loss = (this.first + i) * this.step;
      if (loss > epsilon) total -= chance * Math.expm1(epsilon - loss);
    });
    const terms = this.chances.length + 8;
    return Math.min(total * (1 + this.relative) * (1 + terms * ROUNDING) + this.cut, 1);
  }

  /**
   * An E ≥ 0 with δ(E) ≤ delta, at most 1e-12 of the range above the smallest one.
   *
   * ∞ where the table cannot tell, because more than delta was cut from it.
   */
  epsilon(delta: number): number {
    if (this.delta(0) <= delta) return 0;
    let [low, high] = [0, Math.max((this.first + this.chances.length - 1) * this.step, 0)];
    if (this.delta(high) > delta) return Infinity;
    for (let i = 0; i < 40; i++) {
      const middle = (low + high) / 2;
      if (this.delta(middle) <= delta) high = middle;
      else low = middle;
    }
    return high;
  }
}

/** How many entries at one end have together at most `little`. */
function ending(chances: Float64Array, little: number, start: number, direction: 1 | -1): number {
  let sum = 0;
  for (let count = 0; count < chances.length; count++) {
    sum += at(chances, start + direction * count);
    if (sum > little) return count;
  }
  return chances.length;
}
