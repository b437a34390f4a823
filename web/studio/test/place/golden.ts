/** Places that sfumato and COLMAP wrote, see make_golden.py. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { FoundFile } from "../../src/place/open.ts";

const FOLDER = join(import.meta.dirname, "golden");

export function bytesOf(...path: string[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(readFileSync(join(FOLDER, ...path)));
}

/** The files of one of its folders. */
export function filesOf(folder: string): FoundFile[] {
  return readdirSync(join(FOLDER, folder)).map((name) => ({ path: `${folder}/${name}`, file: new Blob([bytesOf(folder, name)]) }));
}

/** The same files, one of them changed, added or left out. */
export function changed(files: readonly FoundFile[], name: string, change: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> | null): FoundFile[] {
  return files.flatMap(({ path, file }) => {
    if (!path.endsWith(`/${name}`)) return [{ path, file }];
    const made = change(bytesOf(...path.split("/")));
    return made === null ? [] : [{ path, file: new Blob([made]) }];
  });
}

/** The points of a model in one order, with its origin added. */
export function sortedPoints({ points, origin }: { points: Float32Array; origin: readonly number[] }): number[][] {
  const rows = Array.from({ length: points.length / 3 }, (_, i) => [0, 1, 2].map((axis) => (points[3 * i + axis] ?? NaN) + (origin[axis] ?? NaN)));
  return rows.sort((one, other) => (one[0] ?? 0) - (other[0] ?? 0));
}
