/**
 * How many descriptors see one object: the number a guarantee for a face depends on.
 *
 * A descriptor measures more than the spot where its keypoint lies. Whoever asks what a release says
 * about a face must count every descriptor whose support touches the face, wherever its keypoint is.
 */
import { at } from "./checks.ts";
import { InvalidInput } from "./errors.ts";
import type { Box } from "./filters.ts";
import type { Features } from "./types.ts";

/** How far a SIFT descriptor sees, in diameters of its keypoint, with the blur before it. */
const REACH: Readonly<Record<string, number>> = { sift: 8 };
const CELLS = 2 ** 22; // of the raster on which windows are counted

function reachOf(features: Features): number {
  const reach = REACH[features.extractor];
  if (reach === undefined) throw new InvalidInput(`how far ${features.extractor} descriptors see is not known here.`);
  return reach;
}

/** How many descriptors see into a box of pixels. */
export function seenBy(features: Features, [left, top, right, bottom]: Box): number {
  const reach = reachOf(features);
  let count = 0;
  features.scales.forEach((scale, row) => {
    const [x, y] = [at(features.keypoints, 2 * row), at(features.keypoints, 2 * row + 1)];
    const distance = Math.hypot(Math.max(left - x, x - right, 0), Math.max(top - y, y - bottom, 0));
    if (distance <= scale * reach) count++;
  });
  return count;
}

/** The most descriptors that see into any window of this side, in pixels; never too few. */
export function mostInWindow(features: Features, side: number): number {
  const raster = new Raster(features, side);
  features.scales.forEach((_, row) => raster.addBelow(row, Infinity));
  return raster.highest;
}

/**
 * Rows, strongest first as `order` says, as long as no window of this side is seen by more than
 * `count`: whatever stands in such a window is protected as `count` answers are.
 */
export function cappedRows(features: Features, order: readonly number[], count: number, side: number): number[] {
  const raster = new Raster(features, side);
  return order.filter((row) => raster.addBelow(row, count));
}

/**
 * Counts for windows by their upper left corner, on cells of one or more pixels.
 *
 * A descriptor sees the windows whose corner lies in one rectangle. It is rounded outwards to whole
 * cells, so a count is never too small.
 */
class Raster {
  readonly #columns: number;
  readonly #spans: Int32Array;
  readonly #counts: Int32Array;

  constructor(features: Features, side: number) {
    const reach = reachOf(features);
    const [width, height] = [Math.min(side, features.width), Math.min(side, features.height)];
    // Windows lie within the picture: a corner beyond it sees no more than one inside.
    const [mostX, mostY] = [features.width - width, features.height - height];
    const cell = Math.max(1, Math.sqrt(((mostX + 1) * (mostY + 1)) / CELLS));
    const [columns, rows] = [Math.floor(mostX / cell) + 1, Math.floor(mostY / cell) + 1];
    const clip = (value: number, most: number): number => Math.min(Math.max(Math.floor(value / cell), 0), most - 1);
    this.#columns = columns;
    this.#counts = new Int32Array(columns * rows);
    this.#spans = new Int32Array(4 * features.scales.length);
    features.scales.forEach((scale, row) => {
      const [x, y] = [at(features.keypoints, 2 * row), at(features.keypoints, 2 * row + 1)];
      const radius = scale * reach;
      const [left, top] = [clip(x - radius - width, columns), clip(y - radius - height, rows)];
      this.#spans.set([left, top, clip(x + radius, columns) + 1, clip(y + radius, rows) + 1], 4 * row);
    });
  }

  /** Count this row in every window that it sees, unless one of them has `most` already. */
  addBelow(row: number, most: number): boolean {
    const [left = 0, top = 0, right = 0, bottom = 0] = this.#spans.subarray(4 * row, 4 * row + 4);
    const [counts, columns] = [this.#counts, this.#columns];
    for (let y = top; y < bottom; y++) {
      for (let cell = y * columns + left; cell < y * columns + right; cell++) {
        if ((counts[cell] ?? 0) >= most) return false;
      }
    }
    for (let y = top; y < bottom; y++) {
      for (let cell = y * columns + left; cell < y * columns + right; cell++) counts[cell] = (counts[cell] ?? 0) + 1;
    }
    return true;
  }

  /** The most rows that see one window, of those that were added. */
  get highest(): number {
    let highest = 0;
    for (const count of this.#counts) highest = Math.max(highest, count);
    return highest;
  }
}
