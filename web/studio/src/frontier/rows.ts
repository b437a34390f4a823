/** One row per way to send: the share localized with its interval, and three measures of what leaks. */

import type { Outcome, Outcomes, Way } from "./outcomes.ts";

/** What leaks: E of a picture, the advantage for an object, SSIM of the best attack. */
export const LEAKS = ["picture", "object", "ssim"] as const;
export type Leak = (typeof LEAKS)[number];

export interface Row {
  readonly way: Way;
  readonly family: string;
  readonly share: number;
  /** 95 %; draws of one query are not taken for independent. */
  readonly interval: readonly [number, number];
  readonly answers: number;
  readonly wrong: number;
  readonly keypoints: number;
  /** The largest E of any query at δ = 10⁻⁶; null where nothing is promised. */
  readonly picture: number | null;
  readonly object: number | null;
  readonly ssim: number | null;
  readonly grey: number | null;
  /** The attack that most often painted best. */
  readonly attack: string | null;
  /** The leaks for which no other way is both tighter and better. */
  readonly fronts: readonly Leak[];
}

/** Rows in the order tried, and how many ways were stopped half-way. */
export function rowsOf({ head, outcomes }: Outcomes): { rows: readonly Row[]; unfinished: number } {
  const groups = grouped(outcomes, (one) => JSON.stringify(one.way, (_, value: unknown) => (value === Infinity ? "∞" : value)));
  const whole = [...groups.values()].filter((group) => group.length % head.queries.length === 0);
  const bare = whole.map(rowOf);
  const fronts = bare.map((): Leak[] => []);
  for (const leak of LEAKS) {
    bare.forEach((row, i) => {
      const own = row[leak];
      if (own === null || row.share === 0) return; // to leak least and find nothing is no feat
      const isBeaten = bare.some((other) => {
        const value = other[leak];
        return value !== null && value <= own && other.share >= row.share && (value !== own || other.share !== row.share);
      });
      if (!isBeaten) fronts[i]?.push(leak);
    });
  }
  return { rows: bare.map((row, i) => ({ ...row, fronts: fronts[i] ?? [] })), unfinished: groups.size - whole.length };
}

function rowOf(group: readonly Outcome[]): Row {
  const [first] = group;
  if (first === undefined) throw new Error("a way without outcomes");
  const attacks = group.flatMap(({ attack }) => (attack === null ? [] : [attack]));
  const mean = (values: readonly number[]): number | null => (values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length);
  const names = attacks.map(({ name }) => name);
  const often = (name: string): number => names.filter((other) => other === name).length;
  return {
    way: first.way,
    family: familyOf(first.way),
    share: group.filter((one) => one.isLocalized).length / group.length,
    interval: clusteredWilson([...grouped(group, (one) => one.query).values()].map((own) => own.map((one) => one.isLocalized))),
    answers: group.length,
    wrong: group.filter((one) => one.isWrong).length,
    keypoints: mean(group.map((one) => one.numKeypoints)) ?? 0,
    picture: first.picture === null ? null : Math.max(...group.map((one) => one.picture ?? 0)),
    object: first.object,
    ssim: mean(attacks.map(({ ssim }) => ssim)),
    grey: mean(attacks.map(({ grey }) => grey)),
    attack: names.reduce<string | null>((best, name) => (best === null || often(name) > often(best) ? name : best), null),
    fronts: [],
  };
}

function grouped<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

/** The mechanism, and whether a filter comes before it. */
export function familyOf(way: Way): string {
  if (way.kind === "lifting" && way.dither !== 0) return "lifting, dithered";
  const used = [way.keep === null ? "" : "fewer", way.cap === null ? "" : "capped", way.isSuppressed ? "suppressed" : ""];
  return [way.own ?? way.kind, ...used.filter((name) => name !== "")].join(", ");
}

/** A way in a few words. Lifting and raw descriptors have no ε, and none is shown. */
export function said(way: Way): string {
  const parts: string[] = [];
  if (way.kind === "words" && way.epsilon !== null) parts.push(`ε = ${Number(way.epsilon.toPrecision(6))}`);
  else parts.push(way.own ?? way.kind);
  if (way.numWords !== null) parts.push(`${way.subsetSize ?? 1} of ${way.numWords.toLocaleString("en")}`);
  if (way.kind === "lifting") parts.push(`m = ${way.dimension ?? 2}${way.dither === 0 ? "" : `, dither ${way.dither}`}`);
  if (way.isSuppressed) parts.push("person hidden");
  if (way.cap !== null) parts.push(`≤ ${way.cap} a window`);
  if (way.keep !== null) parts.push(`${way.keep.toLocaleString("en")} strongest`);
  return parts.join(", ");
}

/** Wilson's 95 % interval of a share, as if all answers were independent. */
export function wilson(count: number, total: number, z = 1.96): readonly [number, number] {
  const share = count / total;
  const middle = (share + (z * z) / (2 * total)) / (1 + (z * z) / total);
  const half = (z * Math.sqrt((share * (1 - share)) / total + (z * z) / (4 * total * total))) / (1 + (z * z) / total);
  return [Math.max(middle - half, 0), Math.min(middle + half, 1)];
}

/** The same where answers of a group resemble each other: see sfumato.privacy.interval. */
export function clusteredWilson(groups: readonly (readonly boolean[])[]): readonly [number, number] {
  const counts = groups.map((group) => group.filter(Boolean).length);
  const sizes = groups.map((group) => group.length);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const usual = sum(sizes) / sizes.length;
  const [seen, asked] = [[...counts, usual, 0], [...sizes, usual, usual]];
  const share = sum(seen) / sum(asked);
  const between = (seen.length / (seen.length - 1)) * (sum(seen.map((one, i) => (one - share * (asked[i] ?? 0)) ** 2)) / sum(asked));
  const effect = Math.min(Math.max(between / (share * (1 - share)), 1), usual);
  return wilson(sum(counts) / effect, sum(sizes) / effect);
}
