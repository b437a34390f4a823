/**
 * Collects points while a file is read: thins what is too many, drops what cannot be a position.
 *
 * Files are from anybody. No memory is asked for because a file claims something: room grows with
 * what is really there.
 */

import { MOST_POINTS } from "./model.ts";
import { counted, many, Unreadable } from "./problem.ts";
import type { Vector } from "./vectors.ts";

/** No map is so large or so small: such numbers are damage, or bytes in another order. */
const LARGEST = 1e12;
const SMALLEST = 1e-30;

const FIRST_ROOM = 4096;

export class Cloud {
  readonly #most: number;
  #points = new Float64Array(3 * FIRST_ROOM);
  #colours: Uint8Array | null;
  #stride = 1;
  #seen = 0;
  #kept = 0;
  #impossible = 0;

  constructor(hasColours: boolean, most = MOST_POINTS) {
    this.#most = most;
    this.#colours = hasColours ? new Uint8Array(3 * FIRST_ROOM) : null;
  }

  /** How many points came. */
  get total(): number {
    return this.#seen;
  }

  /** Whether the next point is wanted; else it is counted and may be skipped unread. */
  get wantsNext(): boolean {
    return this.#seen % this.#stride === 0;
  }

  skip(): void {
    this.#seen++;
  }

  add(x: number, y: number, z: number, red = 0, green = 0, blue = 0): void {
    const wanted = this.wantsNext;
    this.#seen++;
    if (!wanted) return;
    if (!(possible(x) && possible(y) && possible(z))) {
      this.#impossible++;
      return;
    }
    if (this.#kept === this.#most) this.#thin();
    const place = 3 * this.#kept;
    if (place === this.#points.length) this.#grow();
    this.#points[place] = x;
    this.#points[place + 1] = y;
    this.#points[place + 2] = z;
    if (this.#colours !== null) {
      this.#colours[place] = red;
      this.#colours[place + 1] = green;
      this.#colours[place + 2] = blue;
    }
    this.#kept++;
  }

  #grow(): void {
    const room = Math.min(3 * this.#most, 2 * this.#points.length);
    const points = new Float64Array(room);
    points.set(this.#points);
    this.#points = points;
    if (this.#colours === null) return;
    const colours = new Uint8Array(room);
    colours.set(this.#colours);
    this.#colours = colours;
  }

  /** Keep every second point from now on, also of those that are here. */
  #thin(): void {
    const kept = Math.ceil(this.#kept / 2);
    for (let i = 0; i < kept; i++) {
      this.#points.copyWithin(3 * i, 6 * i, 6 * i + 3);
      this.#colours?.copyWithin(3 * i, 6 * i, 6 * i + 3);
    }
    this.#kept = kept;
    this.#stride *= 2;
  }

  /** The points around their middle, mixed; with sentences on what is missing. */
  finish(what: string): { origin: Vector; points: Float32Array; colours: Uint8Array | null; notes: string[] } {
    if (this.#impossible > 0 && this.#impossible >= this.#kept) {
      throw new Unreadable(
        `Most points of ${what} are no possible positions (not finite, or beyond ±10¹²): it is damaged, or its bytes are in another order than it says.`,
      );
    }
    const notes: string[] = [];
    if (this.#impossible > 0) notes.push(`${counted(this.#impossible, "point is", "points are")} not shown: no finite position.`);
    if (this.#stride > 1) notes.push(`About every ${many(this.#stride)}${this.#stride === 2 ? "nd" : "th"} of ${many(this.#seen)} points is shown; this page shows ${many(this.#most)} at most.`);
    const points = this.#points.subarray(0, 3 * this.#kept);
    const colours = this.#colours?.subarray(0, 3 * this.#kept) ?? null;
    mix(points, colours);
    const origin = middleOf(points);
    const near = new Float32Array(points.length);
    for (let i = 0; i < points.length; i++) near[i] = (points[i] ?? 0) - (origin[i % 3] ?? 0);
    return { origin, points: near, colours: colours === null ? null : colours.slice(), notes };
  }
}

function possible(value: number): boolean {
  const size = Math.abs(value);
  return size <= LARGEST && (size >= SMALLEST || size === 0);
}

/** A round number near the middle: a small map near zero stays where it is. */
function middleOf(points: Float64Array): Vector {
  const count = points.length / 3;
  const sums = [0, 0, 0];
  const step = Math.max(1, Math.floor(count / 10_000));
  let used = 0;
  for (let i = 0; i < count; i += step, used++) {
    for (let axis = 0; axis < 3; axis++) sums[axis] = (sums[axis] ?? 0) + (points[3 * i + axis] ?? 0);
  }
  const [x = 0, y = 0, z = 0] = sums.map((sum) => Math.round(sum / Math.max(1, used)));
  return Math.max(Math.abs(x), Math.abs(y), Math.abs(z)) < 1000 ? [0, 0, 0] : [x, y, z];
}

/** Shuffle rows, the same way every time: each beginning of the list is then a fair sample. */
export function mix(points: Float64Array, colours: Uint8Array | null): void {
  let state = 0x9e3779b9;
  for (let i = points.length / 3 - 1; i > 0; i--) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const j = Math.floor(((state >>> 0) / 0x1_0000_0000) * (i + 1));
    swap(points, i, j);
    if (colours !== null) swap(colours, i, j);
  }
}

function swap(rows: Float64Array | Uint8Array, i: number, j: number): void {
  for (let axis = 0; axis < 3; axis++) {
    const kept = rows[3 * i + axis] ?? 0;
    rows[3 * i + axis] = rows[3 * j + axis] ?? 0;
    rows[3 * j + axis] = kept;
  }
}
