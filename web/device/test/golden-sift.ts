/** The golden files of tests/golden_sift.py. */
import type { Picture } from "../src/types.ts";
import { goldenBytes, goldenJson } from "./golden.ts";

export interface GoldenSift {
  readonly picture: Picture;
  readonly count: number;
  /** x, y, diameter, angle and score of each keypoint. */
  readonly keypoints: Float32Array;
  readonly descriptors: Uint8Array;
  /** Number of words, and the nearest word of open-64k of each descriptor. */
  readonly words: ReadonlyMap<number, Uint32Array>;
}

interface Sizes {
  width: number;
  height: number;
  channels: number;
  keypoints: number;
  levels: number[];
}

export function goldenSift(name: string): GoldenSift {
  const sizes = goldenJson(`sift/${name}.json`) as Sizes;
  const { width, height, keypoints: count } = sizes;
  const bytes = goldenBytes(`sift/${name}.bin`);
  let end = 0;
  const next = (length: number) => bytes.slice(end, (end += length));
  return {
    picture: { width, height, data: next(width * height * sizes.channels) },
    count,
    keypoints: new Float32Array(next(20 * count).buffer),
    descriptors: next(128 * count),
    words: new Map(sizes.levels.map((size) => [size, new Uint32Array(next(4 * count).buffer)])),
  };
}
