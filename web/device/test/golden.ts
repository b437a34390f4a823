/** Files that Python writes and this package reads: the same bytes on both sides. */
import { readFileSync, readdirSync } from "node:fs";

const TESTS = new URL("../../../tests/golden/", import.meta.url);

export function goldenBytes(path: string): Uint8Array {
  return new Uint8Array(readFileSync(new URL(path, TESTS)));
}

export function goldenJson(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, TESTS), "utf8"));
}

/** The names of the golden files of a folder, without this ending. */
export function goldenNames(folder: string, ending: string): string[] {
  return readdirSync(new URL(folder, TESTS))
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))
    .sort();
}
