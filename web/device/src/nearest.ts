/** The nearest word of each descriptor: the word that the Python device finds, ties included. */
import { InvalidInput } from "./errors.ts";
import { Native } from "./native.ts";
import type { NearestWords, Progress } from "./types.ts";

const DIMENSION = 128;
const MAX_WORDS = 1 << 20;
/** Descriptors compared between two reports of progress. */
const BLOCK = 512;
const NO_CENTRES = new Uint8Array(0);

/** From this many words on, a level of a dictionary is searched in cells; the whole follows its manifest. */
export const CELLS_FROM = 32_768;

/** The level whose words are the middles of cells: the first of about four times the root, or null. */
export function cellLevel(numWords: number, levels: readonly number[]): number | null {
  const smaller = levels.filter((size) => size < numWords).sort((a, b) => a - b);
  const enough = smaller.find((size) => size >= 4 * Math.floor(Math.sqrt(numWords)));
  return enough ?? smaller.at(-1) ?? null;
}

/**
 * Searches words of 128 bytes, in memory of its own; making it takes up to half a second.
 *
 * Without `centres` every word is compared, exactly. With them, which are the words of the level
 * `cellLevel` names, a descriptor looks into the 64 cells whose middles are nearest.
 */
export class WordSearch implements NearestWords {
  readonly numWords: number;
  readonly #native: Native;

  constructor(module: WebAssembly.Module, words: Uint8Array, centres: Uint8Array = NO_CENTRES) {
    const [numWords, numCentres] = [checkRows("words", words), checkRows("centres", centres)];
    if (numWords < 1 || numWords > MAX_WORDS || numCentres >= numWords) {
      throw new InvalidInput(
        `a search needs 1 to ${MAX_WORDS} words and fewer centres than words, got ${numWords} and ${numCentres}.`,
      );
    }
    this.numWords = numWords;
    this.#native = new Native(module);
    const address = this.#native.run.words_open(numWords, numCentres);
    this.#native.bytes(address, words.length).set(words);
    this.#native.bytes(address, words.length + centres.length).set(centres, words.length);
    if (this.#native.run.words_index(address) === 0) {
      throw new InvalidInput(`the browser gives no memory for ${numWords} words; choose a smaller dictionary.`);
    }
  }

  /** Index of the nearest word of N descriptors, 128 bytes each; of equally near words the first. */
  nearest(descriptors: Uint8Array, progress?: Progress): Uint32Array {
    const count = checkRows("descriptors", descriptors);
    const found = new Uint32Array(count);
    const { run } = this.#native;
    for (let low = 0; low < count; low += BLOCK) {
      const size = Math.min(BLOCK, count - low);
      const address = run.words_queries(size);
      const rows = descriptors.subarray(low * DIMENSION, (low + size) * DIMENSION);
      this.#native.bytes(address, rows.length).set(rows);
      found.set(this.#native.numbers(run.words_nearest(size), size), low);
      progress?.((low + size) / count);
    }
    return found;
  }
}

function checkRows(name: string, rows: Uint8Array): number {
  if (rows.length % DIMENSION !== 0) {
    throw new InvalidInput(`${name} must have ${DIMENSION} bytes each, got ${rows.length} bytes.`);
  }
  return rows.length / DIMENSION;
}
