/**
 * The device in a worker: keypoints are found once per picture, words are searched once per
 * keypoint and level, and every release goes through the device's own `protect`.
 */

import {
  costOf,
  dictionaryFromTar,
  encode,
  errorMessage,
  filterFeatures,
  guessCamera,
  Ledger,
  loadNative,
  protect,
  SecureRandom,
  Sift,
  WordSearch,
  type Camera,
  type Dictionary,
  type Features,
  type FilterSettings,
  type NearestWords,
  type Picture,
  type Progress,
  type WordRelease,
  type Words,
} from "@sfumato/device";
import type { Answer, Ask, Choice, FromWorker, Made, ProtectAsk, ToWorker } from "./messages.ts";

const SQUARE = 80; // pixels: about a small face
const ROW = 128;
const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  postMessage(message: FromWorker): void;
};

interface Level {
  readonly words: Words;
  readonly search: NearestWords;
}

let native: Promise<WebAssembly.Module> | null = null;
let features: Features | null = null;
let dictionary: Dictionary | null = null;
const levels = new Map<number, Level>();
const random = new SecureRandom();

/** Remembers the word of each descriptor: a slider asks for the same ones again and again. */
class KnownWords implements NearestWords {
  readonly numWords: number;
  readonly #known = new Map<string, number>();
  readonly #search: WordSearch;

  constructor(search: WordSearch) {
    this.numWords = search.numWords;
    this.#search = search;
  }

  nearest(descriptors: Uint8Array, progress?: Progress): Uint32Array {
    const names = Array.from({ length: descriptors.length / ROW }, (_, row) => String.fromCharCode(...descriptors.subarray(row * ROW, (row + 1) * ROW)));
    const fresh = names.flatMap((name, row) => (this.#known.has(name) ? [] : [row]));
    const rows = new Uint8Array(fresh.length * ROW);
    fresh.forEach((row, i) => { rows.set(descriptors.subarray(row * ROW, (row + 1) * ROW), i * ROW); });
    const found = this.#search.nearest(rows, progress);
    fresh.forEach((row, i) => this.#known.set(names[row] ?? "", found[i] ?? 0));
    return Uint32Array.from(names, (name) => this.#known.get(name) ?? 0);
  }

  /** A new picture has other descriptors. */
  forget(): void {
    this.#known.clear();
  }
}

function loaded(): Promise<WebAssembly.Module> {
  native ??= loadNative();
  native.catch(() => { native = null; }); // what could not be loaded may be there next time
  return native;
}

async function levelOf(numWords: number): Promise<Level> {
  const before = levels.get(numWords);
  if (before !== undefined) return before;
  if (dictionary === null) throw new Error("the public words are not loaded yet; wait a moment.");
  const words = dictionary.at(numWords);
  const search = new KnownWords(new WordSearch(await loaded(), words.words, words.centres ?? undefined));
  const level = { words, search };
  levels.set(numWords, level);
  return level;
}

/** Make the levels that are not asked for yet, one at a time, so that questions come in between. */
function warmUp(): void {
  const next = dictionary?.sizes.find((size) => !levels.has(size));
  if (next !== undefined) setTimeout(() => void levelOf(next).then(warmUp, () => undefined), 30);
}

export function filtersOf({ boxes, density, maxKeypoints, spread }: Choice): FilterSettings[] {
  const filters: FilterSettings[] = [{ keep: "outside", boxes, margin: 0, reach: 1 }];
  if (density !== null) filters.push({ keep: "density", count: density, side: SQUARE });
  filters.push({ keep: spread ? "spread" : "strongest", count: maxKeypoints });
  return filters;
}

async function make({ choice, counted, lens }: ProtectAsk, progress: Progress): Promise<Made | null> {
  if (features === null) throw new Error("there is no picture yet; choose one.");
  if (dictionary === null) throw new Error("the public words are not loaded yet; wait a moment.");
  const start = performance.now();
  const { epsilon } = choice;
  const { search, words } = await levelOf(choice.numWords ?? dictionary.sizeFor(epsilon, 1));
  const filters = filtersOf(choice);
  const ledger: Ledger | "uncounted" = counted ? await Ledger.open() : "uncounted";
  try {
    const tools = { extractor: new Sift(await loaded()), words, search, ledger, random, limits: {} };
    const release = await protect(features, cameraOf(features, lens), { epsilon, filters }, tools, progress);
    if (release === null) return null;
    const data = encode(release);
    const kept = filterFeatures(features, filters);
    const looks = new Uint8Array(release.words.length * ROW);
    release.words.forEach((word, i) => { looks.set(words.words.subarray(word * ROW, (word + 1) * ROW), i * ROW); });
    const right = countRight(release, kept, search.nearest(kept.descriptors));
    return { data, release, cost: costOf(release, data.length), kept, looks, right, milliseconds: performance.now() - start };
  } finally {
    if (ledger !== "uncounted") ledger.close();
  }
}

/** The longer side sees what a lens of so many millimetres sees on film, which is 36 mm wide. */
function cameraOf({ height, width }: Features, lens: number): Camera {
  return guessCamera(width, height, (2 * Math.atan(18 / lens) * 180) / Math.PI);
}

/** How many words of a release are the true ones; rows of one position are compared together. */
function countRight(release: WordRelease, kept: Features, truth: Uint32Array): number {
  const names = (points: Float32Array, words: Uint32Array): string[] =>
    Array.from(words, (word, row) => [Math.round(8 * (points[2 * row] ?? 0)), Math.round(8 * (points[2 * row + 1] ?? 0)), word].join(" "));
  const left = new Map<string, number>();
  for (const name of names(kept.keypoints, truth)) left.set(name, (left.get(name) ?? 0) + 1);
  let right = 0;
  for (const name of names(release.keypoints, release.words)) {
    const count = left.get(name) ?? 0;
    if (count === 0) continue;
    left.set(name, count - 1);
    right++;
  }
  return right;
}

async function extract(picture: Picture, progress: Progress): Promise<Features> {
  const found = new Sift(await loaded()).extract(picture, progress);
  for (const { search } of levels.values()) (search as KnownWords).forget();
  features = found;
  return found;
}

async function answer(ask: Ask, progress: Progress): Promise<Answer> {
  if ("extract" in ask) return { features: await extract(ask.extract, progress) };
  if ("protect" in ask) return { made: await make(ask.protect, progress) };
  dictionary = await dictionaryFromTar(ask.words, ask.pin);
  warmUp();
  return { sizes: dictionary.sizes };
}

let last: Promise<void> = Promise.resolve();
scope.onmessage = ({ data: { ask, id } }) => {
  last = last.then(async () => {
    try {
      scope.postMessage({ id, answer: await answer(ask, (progress) => { scope.postMessage({ id, progress }); }) });
    } catch (error) {
      scope.postMessage({ id, error: errorMessage(error) });
    }
  });
};
