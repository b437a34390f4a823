/**
 * Features → Features, before any mechanism: which keypoints leave.
 *
 * Fewer keypoints cost less, N·ε per picture. Positions leave the device with every filter. Nothing
 * here looks for faces or people: give boxes that a person drew or a detector of yours found.
 */
import { at, checkCount, checkNumber } from "./checks.ts";
import { InvalidInput } from "./errors.ts";
import { cappedRows } from "./objects.ts";
import type { Features } from "./types.ts";
import { roundHalfEven } from "./wire/numbers.ts";
import { positionShift, snap, takeRows } from "./wire/positions.ts";

/** A rectangle in pixels: left, top, right, bottom; the centre of a pixel is a whole number. */
export type Box = readonly [left: number, top: number, right: number, bottom: number];

/** What can be left out, as plain values that travel to a worker. */
export type FilterSettings =
  /** The `count` strongest. */
  | { readonly keep: "strongest"; readonly count: number }
  /** `count` keypoints: in turn the strongest of each of about `cells` equal parts (6). */
  | { readonly keep: "spread"; readonly count: number; readonly cells?: number }
  /**
   * The strongest first, as long as no window of `side` × `side` pixels is seen by more than
   * `count` descriptors: whatever stands in any such window is protected as `count` answers are.
   */
  | { readonly keep: "density"; readonly count: number; readonly side: number }
  /**
   * None in these boxes. `margin` is added on every side, as a share of a box's shorter side (.1);
   * `reach` also drops keypoints outside that are nearer than so many of their diameters (0).
   */
  | { readonly keep: "outside"; readonly boxes: readonly Box[]; readonly margin?: number; readonly reach?: number };

/** The features that pass all filters, one after the other. */
export function filterFeatures(features: Features, filters: readonly FilterSettings[]): Features {
  return filters.reduce((kept, filter) => take(kept, rowsOf(kept, filter)), features);
}

/** Refuse settings that cannot be meant, before any picture is opened. */
export function checkFilter(filter: FilterSettings): void {
  switch (filter.keep) {
    case "strongest":
      checkCount("count", filter.count, 0);
      return;
    case "spread":
      checkCount("count", filter.count, 0);
      checkCount("cells", filter.cells ?? 6, 1);
      return;
    case "density":
      checkCount("count", filter.count, 1);
      if (!(checkNumber("side", filter.side) > 0 && filter.side <= 65_536)) {
        throw new InvalidInput(`side must be above 0 and at most 65536 pixels, got ${filter.side}.`);
      }
      return;
    case "outside":
      checkSpan("margin", filter.margin ?? 0.1, 10);
      checkSpan("reach", filter.reach ?? 0, 100);
      for (const [left, top, right, bottom] of filter.boxes) {
        if (!(left < right && top < bottom)) {
          throw new InvalidInput("a box must be left, top, right, bottom, with left < right and top < bottom.");
        }
      }
      return;
    default:
      throw new InvalidInput("a filter must keep strongest, spread, density or outside.");
  }
}

function checkSpan(name: string, value: number, high: number): void {
  if (!(checkNumber(name, value) >= 0 && value <= high)) {
    throw new InvalidInput(`${name} must be between 0 and ${high}, got ${value}.`);
  }
}

/** The same picture with only these rows, in this order. */
export function take(features: Features, rows: readonly number[]): Features {
  const order = Uint32Array.from(rows);
  return {
    ...features,
    keypoints: takeRows(features.keypoints, order, 2),
    descriptors: takeRows(features.descriptors, order, features.dimension),
    scores: takeRows(features.scores, order, 1),
    scales: takeRows(features.scales, order, 1),
    angles: takeRows(features.angles, order, 1),
  };
}

function rowsOf(features: Features, filter: FilterSettings): number[] {
  checkFilter(filter);
  switch (filter.keep) {
    case "strongest":
      return byStrength(features).slice(0, filter.count);
    case "spread": {
      const order = orderByPart(features, partsOf(features, filter.cells ?? 6));
      return byStrength(features, order.slice(0, filter.count));
    }
    case "density":
      return cappedRows(features, byStrength(features), filter.count, filter.side);
    case "outside":
      return outside(features, filter.boxes, filter.margin ?? 0.1, filter.reach ?? 0);
  }
}

/** Rows in order of response, strongest first; equal ones keep their order. */
function byStrength(features: Features, rows?: readonly number[]): number[] {
  const all = rows ?? Array.from(features.scores, (_, row) => row);
  return [...all].sort((a, b) => at(features.scores, b) - at(features.scores, a));
}

/** All rows by their rank within their part, the best ranks first, then by strength. */
function orderByPart(features: Features, parts: readonly number[]): number[] {
  const seen = new Map<number, number>();
  const ranked = byStrength(features).map((row): [number, number] => {
    const rank = seen.get(at(parts, row)) ?? 0;
    seen.set(at(parts, row), rank + 1);
    return [row, rank];
  });
  return ranked.sort(([, a], [, b]) => a - b).map(([row]) => row);
}

/** The part of each keypoint: a grid of about so many equal cells. */
function partsOf({ height, keypoints, width }: Features, cells: number): number[] {
  const columns = Math.max(1, roundHalfEven(Math.sqrt((cells * width) / height)));
  const rows = Math.max(1, roundHalfEven(cells / columns));
  const part = (value: number, side: number, count: number): number =>
    Math.min(Math.max(Math.trunc((value / side) * count), 0), count - 1);
  return Array.from({ length: keypoints.length / 2 }, (_, i) => {
    const [x, y] = [at(keypoints, 2 * i), at(keypoints, 2 * i + 1)];
    return part(y, height, rows) * columns + part(x, width, columns);
  });
}

/** Positions are compared as they are sent, so none is rounded into a box. */
function outside(features: Features, boxes: readonly Box[], margin: number, reach: number): number[] {
  const { height, keypoints, scales, width } = features;
  const step = 2 ** positionShift(width, height);
  const steps = snap(keypoints, width, height);
  const touches = (row: number, [left, top, right, bottom]: Box): boolean => {
    const more = margin * Math.min(right - left, bottom - top);
    const [x, y] = [at(steps, 2 * row) / step, at(steps, 2 * row + 1) / step];
    const dx = Math.max(left - more - x, x - right - more, 0);
    const dy = Math.max(top - more - y, y - bottom - more, 0);
    return Math.sqrt(dx * dx + dy * dy) <= reach * at(scales, row);
  };
  return Array.from(scales, (_, row) => row).filter((row) => !boxes.some((box) => touches(row, box)));
}
