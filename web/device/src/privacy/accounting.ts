/**
 * What many private answers promise together: exact composition.
 *
 * One answer about a value, from `numValues` possible ones of which `subsetSize` are sent, has a
 * privacy loss of +ε, −ε or 0. The loss of a picture is a sum of N such losses, and its
 * distribution is known. N·ε is its largest value.
 *
 * Two contents are compared that have the same number of keypoints at the same positions; those
 * are not protected. Theorem, proof and limits: docs/whole-picture.md of the project.
 */
import { at, checkCount, checkNumber } from "../checks.ts";
import { InvalidInput } from "../errors.ts";
import { LossDistribution } from "./losses.ts";
import { asWritten } from "./odds.ts";

/** The probability with which a promise may fail, where nobody asks for another one. */
export const DELTA = 1e-6;
const MOST_ANSWERS = 1e12;
const MOST_POINTS = 1 << 17; // of the grid on which different kinds of answers are added up
const MOST_KINDS = 64; // more different ε than these are rounded up to so many

/** So many private answers of one kind. `numValues` null: an ε-LDP mechanism of which no more is known. */
export interface PrivateAnswers {
  readonly epsilon: number;
  readonly numValues: number | null;
  readonly subsetSize: number;
  readonly count: number;
}

/** The promise of independent answers together. */
export class Composition {
  readonly answers: readonly PrivateAnswers[];
  #losses: LossDistribution | undefined;

  constructor(answers: readonly PrivateAnswers[]) {
    for (const answer of answers) checkAnswers(answer);
    this.answers = merged(answers);
  }

  /** What these and further answers promise together. */
  plus(further: readonly PrivateAnswers[]): Composition {
    return new Composition([...this.answers, ...further]);
  }

  get numAnswers(): number {
    return this.answers.reduce((sum, { count }) => sum + count, 0);
  }

  /** N·ε: the largest loss that can happen at all, rounded up. */
  get largest(): number {
    if (this.answers.some(({ epsilon }) => epsilon === Infinity)) return Infinity;
    let [over, under] = [0n, 1n];
    for (const { epsilon, count } of this.answers) {
      const exact = asWritten(epsilon);
      [over, under] = [over * exact.under + exact.over * BigInt(count) * under, under * exact.under];
    }
    return roundedUp(over, under);
  }

  /** The smallest δ for which all answers together are (epsilon, δ)-private, rounded up. */
  delta(epsilon: number): number {
    const wanted = checkNumber("epsilon", epsilon);
    if (wanted >= this.largest) return 0;
    return this.largest === Infinity ? 1 : this.#sum().delta(wanted);
  }

  /** The smallest E for which all answers together are (E, delta)-private, rounded up. */
  epsilon(delta: number = DELTA): number {
    const wanted = checkNumber("delta", delta);
    if (!(wanted > 0 && wanted < 1)) {
      throw new InvalidInput(
        `delta must be above 0 and below 1, got ${delta}; it is the probability that the promise fails, ` +
          "1e-6 is usual (for delta = 0 the answer is N·ε).",
      );
    }
    return this.largest === Infinity ? Infinity : Math.min(this.#sum().epsilon(wanted), this.largest);
  }

  /**
   * δ(0): whoever guesses between two equally likely contents is right with probability at most
   * (1 + advantage)/2.
   */
  get advantage(): number {
    return this.delta(0);
  }

  #sum(): LossDistribution {
    this.#losses ??= sumOf(fewKinds(this.answers).map(lossesOf));
    return this.#losses;
  }
}

function checkAnswers(answer: PrivateAnswers): void {
  if (!(checkNumber("epsilon", answer.epsilon) > 0)) {
    throw new InvalidInput(`epsilon must be above 0, got ${answer.epsilon}.`);
  }
  if (answer.numValues !== null) checkCount("numValues", answer.numValues, 2);
  checkCount("subsetSize", answer.subsetSize, 1, (answer.numValues ?? 2) - 1);
  checkCount("count", answer.count, 0, MOST_ANSWERS);
}

/** Answers of the same kind as one entry, in one order; kinds without answers left out. */
function merged(answers: readonly PrivateAnswers[]): PrivateAnswers[] {
  const kinds = new Map<string, PrivateAnswers>();
  for (const answer of answers) {
    if (answer.count === 0) continue;
    const key = `${answer.epsilon} ${answer.numValues} ${answer.subsetSize}`;
    const count = answer.count + (kinds.get(key)?.count ?? 0);
    const { epsilon, numValues, subsetSize } = answer;
    kinds.set(key, { epsilon, numValues, subsetSize, count });
  }
  return [...kinds.values()].sort(
    (a, b) => a.epsilon - b.epsilon || (a.numValues ?? 0) - (b.numValues ?? 0) || a.subsetSize - b.subsetSize,
  );
}

/**
 * The loss of so many answers of one kind, on the multiples of ε.
 *
 * With p = ω·e^ε / (ω·e^ε + |K| − ω): +ε if the true value is sent and the other one is not,
 * p·(1 − (ω−1)/(|K|−1)); −ε if only the other one is, (1−p)·ω/(|K|−1); else 0.
 */
function lossesOf(answer: PrivateAnswers): LossDistribution {
  const [size, others] = [answer.subsetSize, (answer.numValues ?? 2) - 1];
  const odds = answer.epsilon < 700 ? size * Math.exp(answer.epsilon) : Infinity;
  const rest = others + 1 - size;
  const gain = (1 / (1 + rest / odds)) * (rest / others);
  const loss = ((rest / (odds + rest)) * size) / others;
  const chances = Float64Array.of(loss, Math.max(1 - gain - loss, 0), gain);
  return new LossDistribution(answer.epsilon, -1, chances, 0, 1e-14).times(answer.count);
}

function sumOf(parts: LossDistribution[]): LossDistribution {
  let same = parts;
  if (new Set(parts.map((part) => part.step)).size > 1) {
    const width = parts.reduce((sum, part) => sum + part.chances.length * part.step, 0);
    const step = width / Math.min(MOST_POINTS, Math.floor(2 ** 21 / parts.length));
    same = parts.map((part) => part.onGrid(step));
  }
  return same.length === 0 ? LossDistribution.nothing() : same.reduce((total, part) => total.plus(part));
}

/**
 * At most `MOST_KINDS` different ε for each number of values, rounded up.
 *
 * An answer at a smaller ε can be made from one at a larger ε by mixing in uniform answers, so a
 * larger ε is never a better promise.
 */
function fewKinds(answers: readonly PrivateAnswers[]): PrivateAnswers[] {
  const kinds = new Map<string, number[]>();
  const kindOf = (answer: PrivateAnswers): string => `${answer.numValues} ${answer.subsetSize}`;
  for (const answer of answers) {
    kinds.set(kindOf(answer), [...(kinds.get(kindOf(answer)) ?? []), answer.epsilon]);
  }
  for (const [kind, values] of kinds) kinds.set(kind, levels(values));
  return merged(
    answers.map((answer) => {
      const up = kinds.get(kindOf(answer))?.find((level) => level >= answer.epsilon);
      return { ...answer, epsilon: up ?? answer.epsilon };
    }),
  );
}

/** All the values, or few that are near all of them: every so many, and evenly by ratio. */
function levels(epsilons: readonly number[]): number[] {
  const values = [...new Set(epsilons)].sort((a, b) => a - b);
  const last = values.length - 1;
  if (values.length <= MOST_KINDS || values[last] === Infinity) return values;
  const half = MOST_KINDS / 2;
  const [lowest, highest] = [at(values, 0), at(values, last)];
  const chosen = new Set<number>();
  for (let i = 0; i < half; i++) {
    chosen.add(at(values, Math.floor((i * last) / (half - 1))));
    const ratio = lowest * (highest / lowest) ** (i / (half - 1));
    chosen.add(values.find((value) => value >= ratio) ?? highest);
  }
  return [...chosen].sort((a, b) => a - b);
}

/** The smallest float that is not below over/under. */
export function roundedUp(over: bigint, under: bigint): number {
  const shift = BigInt(Math.max(0, under.toString(2).length - over.toString(2).length + 64));
  const scaled = (over << shift) / under;
  let value = Number(scaled) / 2 ** Number(shift);
  const below = (): boolean => {
    const [top, bottom] = exactly(value);
    return top * under < over * bottom;
  };
  while (below()) value = nextUp(value);
  return value;
}

/** A finite non-negative float as a fraction. */
function exactly(value: number): [bigint, bigint] {
  let power = 0;
  let whole = value;
  while (!Number.isInteger(whole)) {
    whole *= 2;
    power++;
  }
  return [BigInt(whole), 1n << BigInt(power)];
}

/** The next float above a non-negative one. */
function nextUp(value: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  view.setBigUint64(0, view.getBigUint64(0) + 1n);
  return view.getFloat64(0);
}
