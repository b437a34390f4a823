/**
 * Frames that a release does not carry, found by painting; as src/sfumato/adversary/invert/refine_frames.py.
 *
 * SIFT of the painting, taken at a keypoint with the right size and angle, resembles the descriptor
 * that was sent. So: paint, try sizes and angles on the painting, keep what agrees best, paint again.
 */

import type { Sift } from "@sfumato/device";
import { withFrames, type Seen } from "./encode.ts";

const [SMALLEST, LARGEST] = [1.85, 64]; // diameters, in pixels
const DIMENSION = 128;
const FRAME = 4;
/** Keypoints that are tried before somebody may stop it. */
const BLOCK = 128;

/** Frames to try: octaves above the smallest or around the present size, turns in degrees. */
interface Search {
  readonly octaves: readonly number[];
  readonly turns: readonly number[];
  readonly around: boolean;
}

const SIZES = Array.from({ length: 18 }, (_, i) => i / 4);
const COARSE = SIZES.filter((_, i) => i % 2 === 0);
const ANY_ANGLE = Array.from({ length: 12 }, (_, i) => 30 * i);
/** Wide at first, since some inferred angles are wild; then near the frames found. */
export const ROUNDS: readonly Search[] = [
  { octaves: COARSE, turns: ANY_ANGLE, around: false },
  { octaves: COARSE, turns: ANY_ANGLE, around: false },
  { octaves: SIZES, turns: [-15, 0, 15], around: false },
  { octaves: [-1, -0.6, -0.35, -0.15, 0, 0.15, 0.35, 0.6, 1], turns: [-8, 0, 8], around: true },
];

/**
 * Rows with the frames that agree best with a painting made of them.
 *
 * `bare` has no frames, `seen` those of now; `planes` is RGB in 0…1. `pause` is awaited between
 * blocks and may throw, to stop.
 */
export async function refined(bare: Seen, seen: Seen, planes: Float32Array, search: Search, certainty: number, sift: Sift, pause: () => Promise<void>): Promise<Seen> {
  const { height, keypoints, width } = seen;
  const picture = { width, height, data: greyOf(planes) };
  const count = keypoints.length / 2;
  const [sizes, angles] = [new Float32Array(count), new Float32Array(count)];
  const tries = search.octaves.flatMap((octave) => search.turns.map((turn) => [octave, turn] as const));
  const frames = new Float32Array(BLOCK * tries.length * FRAME);
  for (let low = 0; low < count; low += BLOCK) {
    await pause();
    const high = Math.min(count, low + BLOCK);
    let at = 0;
    for (let row = low; row < high; row++) {
      const base = search.around ? (seen.scales?.[row] ?? SMALLEST) : SMALLEST;
      for (const [octave, turn] of tries) {
        const angle = (((seen.angles?.[row] ?? 0) + turn) % 360 + 360) % 360;
        frames.set([keypoints[2 * row] ?? 0, keypoints[2 * row + 1] ?? 0, Math.min(LARGEST, Math.max(SMALLEST, base * 2 ** octave)), angle], at);
        at += FRAME;
      }
    }
    const shown = sift.describe(picture, frames.subarray(0, at));
    for (let row = low; row < high; row++) {
      const first = (row - low) * tries.length;
      const best = first + mostAlike(shown.subarray(first * DIMENSION, (first + tries.length) * DIMENSION), bare.rows.subarray(row * DIMENSION, (row + 1) * DIMENSION));
      [sizes[row], angles[row]] = [frames[FRAME * best + 2] ?? 0, frames[FRAME * best + 3] ?? 0];
    }
  }
  return withFrames(bare, sizes, angles, certainty);
}

const ROOTS = Float32Array.from({ length: 256 }, (_, value) => Math.sqrt(value));

/** Which of the descriptors is nearest to a row, both as roots of unit length. */
function mostAlike(descriptors: Uint8Array, row: Float32Array): number {
  let [best, most] = [0, -1];
  for (let one = 0; one < descriptors.length / DIMENSION; one++) {
    let [dot, sum] = [0, 0]; // the square of a root's length is the sum of the bytes
    for (let i = 0; i < DIMENSION; i++) {
      const value = descriptors[one * DIMENSION + i] ?? 0;
      dot += (ROOTS[value] ?? 0) * (row[i] ?? 0);
      sum += value;
    }
    const alike = sum === 0 ? 0 : dot / Math.sqrt(sum);
    if (alike > most) [best, most] = [one, alike];
  }
  return best;
}

/** One byte a pixel, as OpenCV makes grey of colours. */
function greyOf(planes: Float32Array): Uint8ClampedArray<ArrayBuffer> {
  const area = planes.length / 3;
  const grey = new Uint8ClampedArray(area); // rounds, and clips
  for (let i = 0; i < area; i++) grey[i] = 255 * (0.299 * (planes[i] ?? 0) + 0.587 * (planes[area + i] ?? 0) + 0.114 * (planes[2 * area + i] ?? 0));
  return grey;
}
