/**
 * The public words that descriptors are replaced by, taken only if they have the fingerprint that
 * was pinned. A fingerprint names the words and nothing else; whatever the words, a release keeps
 * its ε, because any fixed map from descriptors to words does.
 */
import { at, checkExtractorName, checkFingerprint } from "../checks.ts";
import { BadAnswer, InvalidInput, Mismatch, Missing } from "../errors.ts";
import { CELLS_FROM, cellLevel } from "../nearest.ts";
import { MAX_WORDS } from "../wire/canonical.ts";
import { roundHalfEven } from "../wire/numbers.ts";
import { readNpy, readTar } from "./archive.ts";

/** Share of keypoints whose true word is sent, at the level that is taken where none is chosen. */
const SENT_AT_LEAST = 0.2;

/** The words that a release is made with: a whole dictionary or one of its levels. */
export interface Words {
  readonly fingerprint: string;
  readonly numWords: number;
  readonly dimension: number;
  readonly extractor: string;
  /** Rows of `dimension` bytes. */
  readonly words: Uint8Array;
  /** Middles of cells for a faster search, or null. */
  readonly centres: Uint8Array | null;
  /** Where the word of a descriptor is the group of its nearest row: the group of each row. */
  readonly groups: Uint32Array | null;
}

/** The arrays of a dictionary, as they are kept in this browser. */
export interface DictionaryArrays {
  readonly extractor: string;
  readonly metric: string;
  readonly dimension: number;
  readonly words: Uint8Array;
  /** Number of coarse words, and the coarse word of each word. */
  readonly levels: readonly (readonly [number, Uint32Array])[];
  /** How many descriptors each word stood for, or null. */
  readonly weights: Uint32Array | null;
  /** Whether the whole dictionary is searched in cells: its manifest says so. Levels follow their size. */
  readonly cells: boolean;
}

/** Words of one extractor, with levels of fewer words; verified. */
export class Dictionary {
  /** Of the whole dictionary, whichever fingerprint was pinned. */
  readonly fingerprint: string;
  readonly extractor: string;
  /** Numbers of words that can be chosen, fewest first. */
  readonly sizes: readonly number[];
  readonly #arrays: DictionaryArrays;
  readonly #fingerprints: ReadonlyMap<number, string>;

  private constructor(arrays: DictionaryArrays, fingerprints: ReadonlyMap<number, string>, pin: string) {
    const whole = arrays.words.length / arrays.dimension;
    this.#arrays = arrays;
    this.#fingerprints = fingerprints;
    this.fingerprint = fingerprints.get(whole) ?? "";
    this.extractor = arrays.extractor;
    // Who pins one level trusts that one.
    const pinned = [...fingerprints].filter(([size, name]) => name === pin && size !== whole).map(([size]) => size);
    this.sizes = pinned.length > 0 ? pinned : [...fingerprints.keys()].sort((a, b) => a - b);
  }

  /** Check arrays and their fingerprint; what is not the pinned dictionary is refused. */
  static async verify(arrays: DictionaryArrays, pin: string): Promise<Dictionary> {
    checkFingerprint(pin);
    checkArrays(arrays);
    const { dimension, extractor, levels, weights, words } = arrays;
    const numWords = words.length / dimension;
    const head = new TextEncoder().encode(`|u1|${numWords}x${dimension}|${extractor}|`);
    const whole = await sha256([head, words]);
    const fingerprints = new Map([[numWords, whole]]);
    for (const [size, groups] of levels) {
      const kind = weights === null ? "level" : "means";
      const parts = [new TextEncoder().encode(`${kind}|${whole}|${size}|`), littleEndian(groups)];
      fingerprints.set(size, await sha256(weights === null ? parts : [...parts, littleEndian(weights)]));
    }
    if (![...fingerprints.values()].includes(pin)) {
      throw new Mismatch(
        `the words have the fingerprint ${whole.slice(0, 16)}…, ${pin.slice(0, 16)}… is pinned; they are not used and ` +
          "nothing was sent.",
      );
    }
    return new Dictionary(arrays, fingerprints, pin);
  }

  /** What is kept in this browser. */
  get arrays(): DictionaryArrays {
    return this.#arrays;
  }

  /** All fingerprints that belong to this dictionary: its own and its levels'. */
  get family(): ReadonlySet<string> {
    return new Set(this.#fingerprints.values());
  }

  /** The fingerprints that a release of it may carry. */
  get allowed(): ReadonlySet<string> {
    return new Set(this.sizes.map((size) => this.#fingerprints.get(size) ?? ""));
  }

  /** This dictionary with so many words: the whole, or one of its levels. */
  at(numWords: number): Words {
    const fingerprint = this.#fingerprints.get(numWords);
    if (fingerprint === undefined || !this.sizes.includes(numWords)) {
      throw new InvalidInput(
        `this dictionary has levels of ${this.sizes.join(", ")} words, none of ${numWords}; choose one of these.`,
      );
    }
    const { dimension, extractor, levels, weights } = this.#arrays;
    const groups = levels.find(([size]) => size === numWords)?.[1] ?? null;
    const coarse = weights !== null;
    const hasCells = coarse && (groups === null ? this.#arrays.cells : numWords >= CELLS_FROM);
    const cells = hasCells ? cellLevel(numWords, [...this.#fingerprints.keys()]) : null;
    return {
      ...{ fingerprint, numWords, dimension, extractor },
      words: coarse ? this.#rows(numWords) : this.#arrays.words,
      centres: cells === null ? null : this.#rows(cells),
      groups: coarse ? null : groups,
    };
  }

  /**
   * The number of words to send at this ε per descriptor where none is chosen: the largest level
   * whose true word is sent at least one time in five, else the smallest.
   */
  sizeFor(epsilon: number, subsetSize: number): number {
    const odds = subsetSize * Math.exp(Math.min(epsilon, 50));
    const often = this.sizes.filter((size) => odds >= SENT_AT_LEAST * (odds + size - subsetSize));
    return often.at(-1) ?? at(this.sizes, 0);
  }

  /** The level of that many words. */
  atEpsilon(epsilon: number, subsetSize: number): Words {
    return this.at(this.sizeFor(epsilon, subsetSize));
  }

  #rows(numWords: number): Uint8Array {
    const { dimension, levels, weights, words } = this.#arrays;
    const groups = levels.find(([size]) => size === numWords)?.[1];
    return groups === undefined || weights === null ? words : coarseWords(words, groups, weights, numWords, dimension);
  }
}

/** The mean of each group, each word with its weight: summed exactly, the same on every machine. */
function coarseWords(words: Uint8Array, groups: Uint32Array, weights: Uint32Array, size: number, dimension: number): Uint8Array {
  const sums = new Float64Array(size * dimension);
  const counts = new Float64Array(size);
  for (let row = 0; row < groups.length; row++) {
    const [group, weight] = [at(groups, row), at(weights, row)];
    const [from, to] = [row * dimension, group * dimension];
    counts[group] = at(counts, group) + weight;
    for (let i = 0; i < dimension; i++) sums[to + i] = (sums[to + i] ?? 0) + weight * (words[from + i] ?? 0);
  }
  const means = new Uint8Array(sums.length);
  for (let group = 0; group < size; group++) {
    const [start, count] = [group * dimension, at(counts, group)];
    for (let i = start; i < start + dimension; i++) means[i] = roundHalfEven((sums[i] ?? 0) / count);
  }
  return means;
}

/** The dictionary in an archive that a server handed out, if it is the pinned one. */
export async function dictionaryFromTar(archive: Uint8Array, pin: string): Promise<Dictionary> {
  return Dictionary.verify(readArrays(archive), pin);
}

function readArrays(archive: Uint8Array): DictionaryArrays {
  const files = readTar(archive);
  const [manifest, words] = [files.get("manifest.json"), files.get("words.npy")];
  if (manifest === undefined || words === undefined) throw new BadAnswer("the server's dictionary has no words.");
  let told: { extractor?: unknown; metric?: unknown; index?: { kind?: unknown } | null };
  try {
    told = Object(JSON.parse(new TextDecoder().decode(manifest))) as typeof told;
  } catch {
    throw new BadAnswer("the server's dictionary has a manifest that is no JSON.");
  }
  const rows = readNpy("words.npy", words);
  if (!(rows.values instanceof Uint8Array)) throw new Mismatch("the words of this dictionary are no bytes; this device describes with bytes.");
  const whole = (name: string, file: Uint8Array): Uint32Array => {
    const { shape, values } = readNpy(name, file);
    if (shape.length !== 1) throw new BadAnswer(`the server's dictionary has a ${name} that is no list.`);
    return Uint32Array.from(values);
  };
  const levels = [...files.keys()]
    .filter((name) => name.startsWith("level-"))
    .map((name) => [parseInt(name.slice(6), 10), whole(name, files.get(name) ?? new Uint8Array())] as const)
    .sort(([a], [b]) => a - b);
  const weights = files.get("weights.npy");
  return {
    extractor: String(told.extractor),
    metric: String(told.metric),
    dimension: rows.shape.length === 2 ? at(rows.shape, 1) : 0,
    words: rows.values,
    levels,
    weights: weights === undefined ? null : whole("weights.npy", weights),
    cells: told.index?.kind === "cells", // a graph is not read here: what it approximates is searched
  };
}

function checkArrays({ cells, dimension, extractor, levels, metric, weights, words }: DictionaryArrays): void {
  const numWords = words.length / dimension;
  try {
    checkExtractorName(extractor);
  } catch {
    throw new BadAnswer("the dictionary does not say which extractor it belongs to.");
  }
  if (metric !== "l2") throw new Mismatch(`the dictionary compares by ${metric.slice(0, 20)}, this device by l2.`);
  if (!(Number.isInteger(numWords) && numWords >= 2 && numWords <= MAX_WORDS)) {
    throw new BadAnswer("the dictionary must have 2 to 2^24 words of one length.");
  }
  if (typeof cells !== "boolean") throw new BadAnswer("the dictionary does not say how it is searched.");
  for (const [size, groups] of levels) {
    const seen = new Set(groups);
    if (groups.length !== numWords || seen.size !== size || size >= numWords || groups.some((group) => group >= size)) {
      throw new BadAnswer(`the level of ${size} words must put each of ${numWords} words into one of ${size} groups.`);
    }
  }
  if (weights !== null && (weights.length !== numWords || weights.includes(0))) {
    throw new BadAnswer(`the weights must be ${numWords} whole numbers above 0.`);
  }
}

function littleEndian(values: Uint32Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * values.length));
  for (let i = 0; i < values.length; i++) view.setUint32(4 * i, at(values, i), true);
  return new Uint8Array(view.buffer);
}

async function sha256(parts: readonly Uint8Array[]): Promise<string> {
  const subtle = (globalThis as { crypto?: Partial<Crypto> }).crypto?.subtle;
  if (subtle === undefined) {
    throw new Missing("words cannot be verified here: crypto.subtle needs https:// (or this machine's own address).");
  }
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  const digest = new Uint8Array(await subtle.digest("SHA-256", whole));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
