/** The nearest word by looking at every one: what the compiled search must find as well. */
import type { Words } from "../src/dictionary/dictionary.ts";
import type { NearestWords } from "../src/types.ts";

export function nearestWord({ dimension, groups, words }: Words, descriptor: ArrayLike<number>): number {
  let [best, least] = [0, Infinity];
  for (let row = 0; row < words.length / dimension; row++) {
    let distance = 0;
    for (let i = 0; i < dimension; i++) distance += ((words[row * dimension + i] ?? 0) - (descriptor[i] ?? 0)) ** 2;
    if (distance < least) [best, least] = [row, distance];
  }
  return groups === null ? best : (groups[best] ?? 0);
}

/** The same as a search that `Protector` takes. */
export function plainSearch(words: Words): NearestWords {
  const rows = { ...words, groups: null };
  return {
    numWords: words.words.length / words.dimension,
    nearest: (descriptors) =>
      Uint32Array.from({ length: descriptors.length / words.dimension }, (_, i) =>
        nearestWord(rows, descriptors.subarray(i * words.dimension, (i + 1) * words.dimension)),
      ),
  };
}
