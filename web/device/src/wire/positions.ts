/** Positions as the wire format has them: on a grid of 16-bit numbers, and in one order. */
import { at } from "../checks.ts";
import { roundHalfEven } from "./numbers.ts";

/** Positions are 16-bit multiples of 2^−shift pixels: 1/8 px up to 8192 px, then coarser. */
export function positionShift(width: number, height: number): number {
  return Math.min(3, 16 - (32 - Math.clz32(Math.max(width, height) - 1)));
}

/** Put positions on the grid, as whole multiples of its step: x, y, x, y, … */
export function snap(keypoints: Float32Array, width: number, height: number): Uint16Array {
  const scale = 2 ** positionShift(width, height);
  const limits = [(width - 1) * scale, (height - 1) * scale];
  return Uint16Array.from(keypoints, (value, i) =>
    Math.min(Math.max(roundHalfEven(value * scale), 0), at(limits, i % 2)),
  );
}

/** Positions on the grid, in pixels. */
export function unsnap(steps: Uint16Array, width: number, height: number): Float32Array {
  const scale = 2 ** positionShift(width, height);
  return Float32Array.from(steps, (value) => value / scale);
}

/**
 * The one order of rows: by y, by x, then by the bytes of their contents.
 *
 * `contents` are blocks of bytes, each with the same number of bytes for every row.
 */
export function canonicalOrder(steps: Uint16Array, contents: readonly Uint8Array[]): Uint32Array {
  const rows = steps.length / 2;
  const compare = (a: number, b: number): number => {
    const place = at(steps, 2 * a + 1) - at(steps, 2 * b + 1) || at(steps, 2 * a) - at(steps, 2 * b);
    if (place !== 0) return place;
    for (const content of contents) {
      const width = content.length / rows;
      for (let i = 0; i < width; i++) {
        const order = at(content, a * width + i) - at(content, b * width + i);
        if (order !== 0) return order;
      }
    }
    return 0;
  };
  return Uint32Array.from({ length: rows }, (_, i) => i).sort(compare);
}

/** The rows of a flat array in another order; `Kind` rows of equal width. */
export function takeRows<T extends Float32Array | Uint8Array | Uint16Array | Uint32Array>(
  values: T,
  order: Uint32Array,
  width: number,
): T {
  const out = new (values.constructor as new (length: number) => T)(order.length * width);
  order.forEach((row, i) => {
    out.set(values.subarray(row * width, (row + 1) * width), i * width);
  });
  return out;
}
