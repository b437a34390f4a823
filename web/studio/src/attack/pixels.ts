/** From scattered keypoints to a map a network can read; as src/sfumato/adversary/invert/sparse.py. */

import type { Seen } from "./encode.ts";

const STRIDE = 2;
const REACH = 6;
const WINDOW = 3;
const FAVOUR_LARGE = 0.75;

export interface MapOptions {
  readonly neighbours: number;
  readonly radius: number;
  readonly multiple: number;
  readonly framed: boolean;
  readonly covering: number;
}

/** Which rows a block of 2×2 pixels looks at: index (k, H/2, W/2), offsets (k, c, H/2, W/2). */
export interface PixelMap {
  readonly index: Int32Array;
  readonly offsets: Float32Array;
  readonly slots: number;
  readonly coordinates: number;
  readonly wide: number;
  readonly tall: number;
}

/** The next multiple at or above a side. */
export function padded(side: number, multiple: number): number {
  return Math.ceil(side / multiple) * multiple;
}

/** Find the nearest keypoints of every block, and those whose window covers it. */
export function mapPixels(seen: Seen, options: MapOptions): PixelMap {
  const [wide, tall] = [seen.width, seen.height].map((side) => padded(side, options.multiple) / STRIDE) as [number, number];
  const slots = options.neighbours + options.covering;
  const index = new Int32Array(slots * tall * wide);
  nearestRows(seen.keypoints, options, wide, tall, index);
  if (options.covering > 0) coveringRows(seen, options, wide, tall, index.subarray(options.neighbours * tall * wide));
  return { index, offsets: offsetsOf(seen, index, options, wide, tall), slots, coordinates: options.framed ? 5 : 3, wide, tall };
}

/** Where the middle of a block lies, in pixels. */
function middle(place: number): number {
  return place * STRIDE + (STRIDE - 1) / 2;
}

function nearestRows(points: Float32Array, { neighbours, radius }: MapOptions, wide: number, tall: number, index: Int32Array): void {
  const count = points.length / 2;
  const best = new Float64Array(neighbours);
  const rows = new Int32Array(neighbours);
  for (let y = 0; y < tall; y++) {
    const middleY = middle(y);
    // Only keypoints that are near enough from above and below.
    const line: number[] = [];
    for (let row = 0; row < count; row++) if (Math.abs((points[2 * row + 1] ?? 0) - middleY) < radius) line.push(row);
    for (let x = 0; x < wide; x++) {
      const middleX = middle(x);
      best.fill(radius * radius);
      rows.fill(0);
      for (const row of line) {
        const dx = (points[2 * row] ?? 0) - middleX;
        const dy = (points[2 * row + 1] ?? 0) - middleY;
        const apart = dx * dx + dy * dy;
        if (apart >= (best[neighbours - 1] ?? 0)) continue;
        let at = neighbours - 1;
        for (; at > 0 && (best[at - 1] ?? 0) > apart; at--) {
          best[at] = best[at - 1] ?? 0;
          rows[at] = rows[at - 1] ?? 0;
        }
        best[at] = apart;
        rows[at] = row + 1;
      }
      for (let slot = 0; slot < neighbours; slot++) index[(slot * tall + y) * wide + x] = rows[slot] ?? 0;
    }
  }
}

/** 1 + the rows whose windows cover each 2×2 blocks, the best first, else 0. */
function coveringRows(seen: Seen, { covering }: MapOptions, wide: number, tall: number, index: Int32Array): void {
  const { keypoints: points, scales } = seen;
  if (scales === null) throw new Error("a network that looks at windows needs the size of every keypoint.");
  const sizes = scales.map((size) => Math.max(size, 1));
  const outside = sizes.map((size) => (WINDOW * size) ** 2);
  const claim = sizes.map((size) => size ** (-2 * FAVOUR_LARGE));
  const best = new Float64Array(covering);
  const rows = new Int32Array(covering);
  for (let y = 0; y < tall; y += 2) {
    const middleY = middle(y) + STRIDE / 2;
    const line: number[] = [];
    for (let row = 0; row < sizes.length; row++) if (((points[2 * row + 1] ?? 0) - middleY) ** 2 < (outside[row] ?? 0)) line.push(row);
    for (let x = 0; x < wide; x += 2) {
      const middleX = middle(x) + STRIDE / 2;
      best.fill(Infinity);
      rows.fill(0);
      for (const row of line) {
        const dx = middleX - (points[2 * row] ?? 0);
        const dy = middleY - (points[2 * row + 1] ?? 0);
        const apart = Math.fround(Math.fround(dx * dx) + Math.fround(dy * dy));
        if (apart >= (outside[row] ?? 0)) continue;
        const cost = Math.fround(apart * (claim[row] ?? 0));
        if (cost >= (best[covering - 1] ?? 0)) continue;
        let at = covering - 1;
        for (; at > 0 && (best[at - 1] ?? 0) > cost; at--) {
          best[at] = best[at - 1] ?? 0;
          rows[at] = rows[at - 1] ?? 0;
        }
        best[at] = cost;
        rows[at] = row + 1;
      }
      for (let slot = 0; slot < covering; slot++) {
        for (const [dx, dy] of [[0, 0], [1, 0], [0, 1], [1, 1]] as const) {
          if (x + dx < wide && y + dy < tall) index[(slot * tall + y + dy) * wide + x + dx] = rows[slot] ?? 0;
        }
      }
    }
  }
}

function offsetsOf(seen: Seen, index: Int32Array, options: MapOptions, wide: number, tall: number): Float32Array {
  const { angles, keypoints: points, scales } = seen;
  const area = tall * wide;
  const channels = options.framed ? 5 : 3;
  const offsets = new Float32Array((index.length / area) * channels * area);
  if (options.framed && (angles === null || scales === null)) throw new Error("a framed network needs the size and angle of every keypoint.");
  const turns = angles?.map((angle) => (Math.max(angle, 0) * Math.PI) / 180);
  const cos = turns?.map((turn, row) => Math.cos(turn) / Math.max(scales?.[row] ?? 1, 1));
  const sin = turns?.map((turn, row) => Math.sin(turn) / Math.max(scales?.[row] ?? 1, 1));
  for (let at = 0; at < index.length; at++) {
    const row = (index[at] ?? 0) - 1;
    if (row < 0) continue;
    const [slot, block] = [Math.floor(at / area), at % area];
    const dx = middle(block % wide) - (points[2 * row] ?? 0);
    const dy = middle(Math.floor(block / wide)) - (points[2 * row + 1] ?? 0);
    const start = slot * channels * area + block;
    offsets[start] = dx / options.radius;
    offsets[start + area] = dy / options.radius;
    offsets[start + 2 * area] = 1;
    if (!options.framed) continue;
    const [c, s] = [cos?.[row] ?? 1, sin?.[row] ?? 0];
    // Angles run clockwise with y down: turning back is (cos, sin; −sin, cos).
    offsets[start + 3 * area] = Math.min(REACH, Math.max(-REACH, c * dx + s * dy));
    offsets[start + 4 * area] = Math.min(REACH, Math.max(-REACH, c * dy - s * dx));
  }
  return offsets;
}
