/** Files that painting.py wrote, read as arrays. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../../..");
export const PYTHON = join(ROOT, ".venv/bin/python");

export class Golden {
  readonly folder = mkdtempSync(join(tmpdir(), "sfumato-studio-"));
  readonly facts: Record<string, number | string>;
  readonly #sizes: Record<string, readonly number[]>;

  constructor() {
    execFileSync(PYTHON, [join(import.meta.dirname, "painting.py"), this.folder], { stdio: ["ignore", "ignore", "inherit"] });
    const told = JSON.parse(readFileSync(join(this.folder, "sizes.json"), "utf8")) as { sizes: Record<string, readonly number[]>; facts: Record<string, number | string> };
    [this.#sizes, this.facts] = [told.sizes, told.facts];
  }

  shape(name: string): readonly number[] {
    return this.#sizes[name] ?? [];
  }

  floats(name: string): Float32Array {
    const bytes = readFileSync(join(this.folder, name));
    return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  }

  whole(name: string): Int32Array {
    const bytes = readFileSync(join(this.folder, name));
    return new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  }

  /** (H, W, 3) as RGB planes. */
  planes(name: string): Float32Array {
    const values = this.floats(name);
    const area = values.length / 3;
    return Float32Array.from(values, (_, i) => values[3 * (i % area) + Math.floor(i / area)] ?? 0);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The largest difference between two lists. */
export function furthest(one: ArrayLike<number>, other: ArrayLike<number>): number {
  if (one.length !== other.length) return Infinity;
  let most = 0;
  for (let i = 0; i < one.length; i++) most = Math.max(most, Math.abs((one[i] ?? NaN) - (other[i] ?? NaN)));
  return most;
}

/** Share of places that differ. */
export function shareOther(one: ArrayLike<number>, other: ArrayLike<number>): number {
  if (one.length !== other.length) return 1;
  let count = 0;
  for (let i = 0; i < one.length; i++) count += Number(one[i] !== other[i]);
  return count / one.length;
}
