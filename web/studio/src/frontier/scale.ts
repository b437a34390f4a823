/** Where things stand in a chart: scales, marks on axes, and the column of what promises nothing. */

import type { Leak, Row } from "./rows.ts";

export interface Axis {
  readonly title: string;
  /** From a row to 0 … 1 across the chart; null: the row has no place on it. */
  place(row: Row): number | null;
  readonly ticks: readonly (readonly [at: number, text: string])[];
  /** Where a column begins for what promises nothing; null: there is none. */
  readonly behind: number | null;
  /** A line that says what no release at all would give. */
  readonly line: readonly [at: number, text: string] | null;
}

const TITLES: Record<Leak, string> = {
  picture: "E of a whole picture at δ = 10⁻⁶",
  object: "advantage of who guesses about an object of ten descriptors",
  ssim: "SSIM of what the best attack paints",
};
const SHORT_TITLES: Record<Leak, string> = { picture: "E at δ = 10⁻⁶", object: "advantage, object of ten", ssim: "SSIM of the attack" };
/** The part of the width that promises take, where others stand behind. */
const COLUMN = 0.8;
const NARROW_COLUMN = 0.64;

/** The axis of a leak for these rows. */
export function axisOf(leak: Leak, rows: readonly Row[], isNarrow = false): Axis {
  const title = `← more private · ${isNarrow ? SHORT_TITLES[leak] : TITLES[leak]}`;
  const values = rows.flatMap((row) => (row[leak] === null ? [] : [row[leak]]));
  if (leak === "ssim") {
    const greys = rows.flatMap(({ grey }) => (grey === null ? [] : [grey]));
    const grey = greys.length === 0 ? null : greys.reduce((sum, value) => sum + value, 0) / greys.length;
    const [low, high] = bounds([...values, ...(grey === null ? [] : [grey])], 0.04);
    const at = (value: number): number => (value - low) / (high - low);
    return {
      title, behind: null, line: grey === null ? null : [at(grey), "a grey picture"],
      place: (row) => (row.ssim === null ? null : at(row.ssim)),
      ticks: even(low, high, 6).map((value) => [at(value), value.toFixed(2)]),
    };
  }
  const families = [...new Set(rows.filter((row) => row[leak] === null).map(({ family }) => family))];
  const wide = families.length === 0 ? 1 : isNarrow ? NARROW_COLUMN : COLUMN;
  const column = (family: string): number => wide + ((1 - wide) * (families.indexOf(family) + 1)) / (families.length + 1);
  const isLog = leak === "picture";
  const scaled = values.filter((value) => value > 0 || !isLog).map((value) => (isLog ? Math.log10(value) : value));
  const [low, high] = isLog ? bounds(scaled, 0.1) : [0, 1];
  const at = (value: number): number => (wide * ((isLog ? Math.log10(Math.max(value, 1e-9)) : value) - low)) / (high - low);
  const marks = isLog
    ? powers(low, high).map((value) => [at(value), value.toLocaleString("en")] as const)
    : [0, 0.25, 0.5, 0.75, 1].map((value) => [at(value), String(value)] as const);
  return {
    title, line: null, behind: families.length === 0 ? null : wide,
    place: (row) => (row[leak] === null ? column(row.family) : at(row[leak])),
    ticks: families.length === 0 ? marks : [...marks.filter(([place]) => place < wide - (isNarrow ? 0.1 : 0.03)), [(1 + wide) / 2, "no promise"]],
  };
}

/** Low and high with some room beside; never the same. */
function bounds(values: readonly number[], room: number): readonly [number, number] {
  if (values.length === 0) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const beside = Math.max(room * (high - low), high === low ? 0.1 : 0, 1e-6);
  return [low - beside, high + beside];
}

/** 1, 2 and 5 of every power of ten between these logarithms. */
export function powers(low: number, high: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power++) {
    for (const first of [1, 2, 5]) {
      const value = Number((first * 10 ** power).toPrecision(3));
      if (Math.log10(value) >= low && Math.log10(value) <= high) found.push(value);
    }
  }
  return found.length > 8 ? found.filter((value) => /^10*$|^0\.0*1$/.test(String(value))) : found;
}

function even(low: number, high: number, count: number): number[] {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((first) => first * power).find((one) => one >= raw) ?? raw;
  const first = Math.ceil(low / step) * step;
  return Array.from({ length: Math.floor((high - first) / step) + 1 }, (_, i) => Number((first + i * step).toPrecision(6)));
}
