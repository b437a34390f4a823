/** What an attacker sees of each keypoint, as one row of numbers; as src/sfumato/adversary/invert/encoders.py. */

/** Certainty of inferred frames beside given ones, whose is 1; for networks that read both. */
export const INFERRED = 0.5;
const FRAME = 3; // columns that `withFrames` adds

/** One picture as the network takes it: N rows of `columns` numbers, and where each lies. */
export interface Seen {
  readonly rows: Float32Array;
  readonly columns: number;
  /** x, y of each row. */
  readonly keypoints: Float32Array;
  readonly width: number;
  readonly height: number;
  /** Diameters in pixels, and degrees; null where nobody knows or guesses them. */
  readonly scales: Float32Array | null;
  readonly angles: Float32Array | null;
}

/** Descriptors of bytes as numbers of order 1: the root lets small bins be seen. */
export function scaleDescriptors(descriptors: Uint8Array): Float32Array {
  return Float32Array.from(descriptors, (value) => Math.sqrt(Math.fround(value / 255)));
}

/** Positions in a picture of another size; the centre of a pixel is a whole number. */
export function scaledPositions(points: Float32Array, from: readonly [number, number], to: readonly [number, number]): Float32Array {
  return points.map((value, i) => {
    const [before, after] = i % 2 === 0 ? [from[0], to[0]] : [from[1], to[1]];
    return (value + 0.5) * (after / before) - 0.5;
  });
}

/** Each row followed by log diameter, cosine and sine of the angle. */
export function withFrames(seen: Seen, scales: Float32Array, angles: Float32Array, certainty: number): Seen {
  const columns = seen.columns + FRAME;
  const rows = new Float32Array(scales.length * columns);
  for (let row = 0; row < scales.length; row++) {
    rows.set(seen.rows.subarray(row * seen.columns, (row + 1) * seen.columns), row * columns);
    const turn = (Math.max(angles[row] ?? 0, 0) * Math.PI) / 180;
    rows.set([Math.log2(Math.max(scales[row] ?? 0, 1)), certainty * Math.cos(turn), certainty * Math.sin(turn)], row * columns + seen.columns);
  }
  return { ...seen, rows, columns, scales, angles };
}

/** The keypoints as they are seen when the picture is turned clockwise by right angles. */
export function turned(seen: Seen, quarters: number): Seen {
  let { height, keypoints, width } = seen;
  for (let turn = 0; turn < quarters; turn++) {
    const before = keypoints;
    const tall = height;
    keypoints = before.map((_, i) => (i % 2 === 0 ? tall - 1 - (before[i + 1] ?? 0) : (before[i - 1] ?? 0)));
    [width, height] = [height, width];
  }
  const moved: Seen = { ...seen, keypoints, width, height };
  if (quarters === 0 || seen.scales === null || seen.angles === null) return moved;
  const angles = seen.angles.map((angle) => (angle + 90 * quarters) % 360);
  const columns = seen.columns - FRAME;
  const certainty = Math.hypot(seen.rows[columns + 1] ?? 0, seen.rows[columns + 2] ?? 0);
  const bare = new Float32Array(angles.length * columns);
  for (let row = 0; row < angles.length; row++) bare.set(seen.rows.subarray(row * seen.columns, row * seen.columns + columns), row * columns);
  return withFrames({ ...moved, rows: bare, columns }, seen.scales, angles, Math.round(certainty * 1e6) / 1e6);
}

/** A painting of a turned picture, turned back: RGB planes of `width` × `height` into those of the upright one. */
export function turnedBack(planes: Float32Array, width: number, height: number, quarters: number): Float32Array {
  let [now, wide, tall] = [planes, width, height];
  for (let turn = 0; turn < quarters; turn++) {
    const next = new Float32Array(now.length);
    // What was turned clockwise goes back counter-clockwise: the right column becomes the first row.
    for (let plane = 0; plane < 3; plane++) {
      const start = plane * wide * tall;
      for (let y = 0; y < wide; y++) {
        for (let x = 0; x < tall; x++) next[start + y * tall + x] = now[start + x * wide + (wide - 1 - y)] ?? 0;
      }
    }
    [now, wide, tall] = [next, tall, wide];
  }
  return now;
}
