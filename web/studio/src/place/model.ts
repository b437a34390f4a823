/** What is shown of a place, whatever file it came from. */

import { dot, moved, unit, type Matrix, type Vector } from "./vectors.ts";

/** More points than these are thinned evenly: no screen shows more. */
export const MOST_POINTS = 4_000_000;
/** More cameras than these are not drawn. */
export const MOST_CAMERAS = 100_000;

/** A camera that took a picture of the map, or that was found. */
export interface ShownCamera {
  readonly name: string;
  readonly center: Vector;
  /** Rows of R in cam_from_world: right, down and forward of the camera, in the world. */
  readonly rotation: Matrix;
  /** Half of the picture's width and height, over the focal length. */
  readonly half: readonly [number, number];
}

/** Points, cameras, and which way is up. Coordinates are those of the file minus `origin`. */
export interface Model {
  readonly kind: "map" | "colmap" | "ply" | "server";
  readonly name: string;
  /** Subtracted from everything, so that small numbers keep their digits. */
  readonly origin: Vector;
  /** x, y, z of one point after the other, in an order whose beginning is a fair sample. */
  readonly points: Float32Array;
  /** Red, green, blue of each, or null where no colours are known. */
  readonly colours: Uint8Array | null;
  readonly cameras: readonly ShownCamera[];
  /** Up, of length 1; null where nothing says. */
  readonly up: Vector | null;
  /** How many points the file has. */
  readonly total: number;
  /** Sentences on what was left out. */
  readonly notes: readonly string[];
}

/** Where the points lie, without the few that lie far outside. */
export interface Extent {
  readonly middle: Vector;
  /** The diagonal of the box that holds nearly all of them. */
  readonly span: number;
}

const SAMPLE = 20_000;

/** Middle and size of what is shown; of the cameras where there are no points. */
export function extentOf(points: Float32Array, cameras: readonly ShownCamera[]): Extent {
  const count = Math.floor(points.length / 3);
  const some = count > 0 ? Math.min(count, SAMPLE) : cameras.length;
  const at = (i: number, axis: number): number =>
    count > 0 ? (points[3 * Math.floor((i * count) / some) + axis] ?? 0) : (cameras[i]?.center[axis] ?? 0);
  const sides = [0, 1, 2].map((axis) => {
    const values = Float64Array.from({ length: some }, (_, i) => at(i, axis)).sort();
    const share = (part: number): number => values[Math.round(part * (values.length - 1))] ?? 0;
    return [share(0.02), share(0.98)] as const;
  });
  const [x = 0, y = 0, z = 0] = sides.map(([low, high]) => (low + high) / 2);
  const span = Math.hypot(...sides.map(([low, high]) => high - low));
  return { middle: [x, y, z], span: span > 0 && Number.isFinite(span) ? span : 1 };
}

/** A camera's second axis points down in its picture; most pictures are held upright. */
export function upOf(cameras: readonly ShownCamera[]): Vector | null {
  const start: Vector = [0, 0, 0];
  const down = cameras.reduce((sum, { rotation }) => moved(sum, 1, rotation[1]), start);
  return dot(down, down) > 1e-6 ? unit([-down[0], -down[1], -down[2]]) : null;
}

/** The four corners of a camera's picture at this distance before it, clockwise from the upper left. */
export function cornersOf({ center, rotation, half }: ShownCamera, far: number): readonly [Vector, Vector, Vector, Vector] {
  const [right, down, forward] = rotation;
  const corner = (x: number, y: number): Vector =>
    moved(moved(moved(center, far, forward), far * x * half[0], right), far * y * half[1], down);
  return [corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)];
}

/** The direction in the world in which a camera sees a pixel; lens distortion is left out. */
export function rayOf({ rotation, half }: ShownCamera, x: number, y: number, width: number, height: number): Vector {
  const [right, down, forward] = rotation;
  const across = ((2 * (x + 0.5)) / width - 1) * half[0];
  const below = ((2 * (y + 0.5)) / height - 1) * half[1];
  return unit(moved(moved(forward, across, right), below, down));
}

/** Half of a picture's sides over its focal length, by COLMAP's parameters; null where they are impossible. */
export function halfOf(model: string, width: number, height: number, params: readonly number[]): readonly [number, number] | null {
  const single = ["SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL", "SIMPLE_RADIAL_FISHEYE", "RADIAL_FISHEYE"].includes(model);
  const [fx = NaN, fy = NaN] = single ? [params[0], params[0]] : params;
  const half = [width / 2 / fx, height / 2 / fy] as const;
  return half.every((value) => value > 0 && Number.isFinite(value)) ? half : null;
}
