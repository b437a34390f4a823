import { expect, test } from "vitest";
import { InvalidInput } from "../src/errors.ts";
import { filterFeatures, type Box, type FilterSettings } from "../src/filters.ts";
import { mostInWindow, seenBy } from "../src/objects.ts";
import type { Features } from "../src/types.ts";
import { goldenJson } from "./golden.ts";

interface Told {
  keypoints: [number, number][];
  scores: number[];
  scales: number[];
  width: number;
  height: number;
  strongest: Record<string, number[]>;
  spread: Record<string, number[]>;
  boxes: Box[];
  suppressed: Record<string, number[]>;
  density: Record<string, number[]>;
  most_in_window: Record<string, number>;
  seen_by: number[];
}

const told = goldenJson("device/filters.json") as Told;
const count = told.scores.length;
const features: Features = {
  keypoints: Float32Array.from(told.keypoints.flat()),
  descriptors: Uint8Array.from({ length: count }, (_, row) => row), // a row's number, to know it again
  dimension: 1,
  scores: Float32Array.from(told.scores),
  scales: Float32Array.from(told.scales),
  angles: new Float32Array(count),
  width: told.width,
  height: told.height,
  extractor: "sift",
};

function rows(...filters: FilterSettings[]): number[] {
  return [...filterFeatures(features, filters).descriptors];
}

test.each(Object.entries(told.strongest))("the %s strongest are Python's", (many, wanted) => {
  expect(rows({ keep: "strongest", count: Number(many) })).toEqual(wanted);
});

test.each(Object.entries(told.spread))("spread over parts, %s are Python's", (key, wanted) => {
  const [many, cells] = key.split(" ").map(Number) as [number, number];
  expect(rows({ keep: "spread", count: many, cells })).toEqual(wanted);
});

test.each(Object.entries(told.suppressed))("outside boxes with margin and reach %s are Python's", (key, wanted) => {
  const [margin, reach] = key.split(" ").map(Number) as [number, number];
  expect(wanted.length).toBeLessThan(count);
  expect(rows({ keep: "outside", boxes: told.boxes, margin, reach })).toEqual(wanted);
});

test.each(Object.entries(told.density))("capped at count and side %s are Python's", (key, wanted) => {
  const [many, side] = key.split(" ").map(Number) as [number, number];
  expect(wanted.length).toBeLessThan(count);
  expect(rows({ keep: "density", count: many, side })).toEqual(wanted);
});

test.each(Object.entries(told.most_in_window))("the most that see a window of %s pixels are Python's", (side, wanted) => {
  expect(mostInWindow(features, Number(side))).toBe(wanted);
});

test("no window is seen by more than the cap", () => {
  const kept = filterFeatures(features, [{ keep: "density", count: 9, side: 80 }]);
  expect(mostInWindow(kept, 80)).toBe(9);
});

test("how many see into a box is Python's", () => {
  expect(told.boxes.map((box) => seenBy(features, box))).toEqual(told.seen_by);
});

test("filters follow each other", () => {
  const kept = rows({ keep: "outside", boxes: told.boxes, margin: 0 }, { keep: "strongest", count: 5 });
  expect(kept).toHaveLength(5);
  expect(kept.every((row) => told.suppressed["0.0 0.0"]?.includes(row))).toBe(true);
});

test("a picture without keypoints stays one", () => {
  const none = filterFeatures(features, [{ keep: "strongest", count: 0 }]);
  for (const filter of [{ keep: "spread", count: 5 }, { keep: "density", count: 1, side: 9 }] as const) {
    expect(filterFeatures(none, [filter]).scores).toHaveLength(0);
  }
});

test.each([
  { keep: "strongest", count: -1 },
  { keep: "spread", count: 5, cells: 0 },
  { keep: "density", count: 0, side: 10 },
  { keep: "density", count: 1, side: 0 },
  { keep: "outside", boxes: [[5, 5, 5, 9]] },
  { keep: "outside", boxes: [], margin: 11 },
  { keep: "outside", boxes: [], reach: -1 },
  { keep: "weakest" } as unknown as FilterSettings,
] as FilterSettings[])("%j is refused", (filter) => {
  expect(() => rows(filter)).toThrow(InvalidInput);
});
