/** The budget over time: what had been spent after each charge. */

import type { PrivateAnswers } from "@sfumato/device";
import { answerOf, type Account, type Charge } from "./accounts.ts";

export interface Step {
  readonly time: number;
  readonly spent: number;
}

/** N·ε after each charge; what was spent before the first one that is known stands at its time. */
export function stepsOf({ charges, spent }: Account): readonly Step[] {
  const known = charges.reduce((sum, one) => sum + costOf(one), 0);
  let total = Math.max(0, spent - known);
  const before = charges[0] === undefined ? [] : [{ time: charges[0].time, spent: total < 1e-6 ? (total = 0) : total }];
  return [...before, ...charges.map((one) => ({ time: one.time, spent: (total += costOf(one)) }))];
}

/** N·ε of one picture. */
export function costOf({ epsilon, units }: Charge): number {
  return (epsilon ?? 0) * units;
}

/** After which charges E is counted: all of few, some of many, always the last. */
export function sampled(count: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, i) => i);
  return [...new Set(Array.from({ length: most }, (_, i) => Math.round((i * (count - 1)) / (most - 1))))];
}

/** All answers up to a charge, kinds merged. */
export function answersUpTo(charges: readonly Charge[], last: number): PrivateAnswers[] {
  const kinds = new Map<string, PrivateAnswers>();
  for (const answer of charges.slice(0, last + 1).flatMap(answerOf)) {
    const key = `${answer.epsilon} ${answer.numValues} ${answer.subsetSize}`;
    kinds.set(key, { ...answer, count: answer.count + (kinds.get(key)?.count ?? 0) });
  }
  return [...kinds.values()];
}
