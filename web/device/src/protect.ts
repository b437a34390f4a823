/** Picture → release, on one page: extract, filter, charge, draw. */
import { checkPossible, type Camera } from "./camera.ts";
import { at, checkCount } from "./checks.ts";
import type { Words } from "./dictionary/dictionary.ts";
import { InvalidInput, Mismatch, NotPrivate } from "./errors.ts";
import { checkFilter, filterFeatures, type FilterSettings } from "./filters.ts";
import type { Ledger } from "./ledger.ts";
import { checkAllowed, checkLimits, checkPictureCost, type Limits } from "./limits.ts";
import { subsetEvent } from "./privacy/event.ts";
import type { RandomSource } from "./privacy/randomness.ts";
import { SubsetMechanism } from "./privacy/subset.ts";
import type { Extractor, Features, NearestWords, Picture, Progress } from "./types.ts";
import { canonical } from "./wire/canonical.ts";
import type { WordRelease } from "./wire/releases.ts";

/** What a device does with every picture. */
export interface Recipe {
  /** ε per descriptor; N keypoints of a picture compose to N·ε. */
  readonly epsilon: number;
  /** ω, words sent per keypoint; 1 where none is given. */
  readonly subsetSize?: number | undefined;
  /** Only so many of the strongest keypoints; all where none is given. */
  readonly maxKeypoints?: number | undefined;
  /** What is left out, one filter after the other. */
  readonly filters?: readonly FilterSettings[] | undefined;
}

/** What `protect` works with. */
export interface Tools {
  readonly extractor: Extractor;
  readonly words: Words;
  /** The nearest row of `words.words`. */
  readonly search: NearestWords;
  /** Charged before anything is drawn; "uncounted": whoever embeds this says that nothing is to be counted. */
  readonly ledger: Ledger | "uncounted";
  readonly random: RandomSource;
  readonly limits: Limits;
}

/** Refuse what cannot be, before any picture is opened. */
export function checkRecipe(recipe: Recipe, words: Words, limits: Limits): SubsetMechanism {
  checkLimits(limits);
  for (const filter of recipe.filters ?? []) checkFilter(filter);
  if (recipe.maxKeypoints !== undefined) checkCount("maxKeypoints", recipe.maxKeypoints, 1);
  const mechanism = new SubsetMechanism(recipe.epsilon, words.numWords, recipe.subsetSize ?? 1);
  checkAllowed(limits, recipe.epsilon, words.numWords);
  return mechanism;
}

/**
 * Extract, filter, charge, draw: what a device does with one picture, or with features of it.
 *
 * Null where nothing is left to send: then nothing is charged. All that could be refused is
 * refused before the charge, and nothing is drawn before the ledger agreed.
 */
export async function protect(
  input: Picture | Features,
  camera: Camera,
  recipe: Recipe,
  tools: Tools,
  progress?: Progress,
): Promise<WordRelease | null> {
  const mechanism = checkRecipe(recipe, tools.words, tools.limits);
  checkPossible(camera);
  if (camera.width !== input.width || camera.height !== input.height) {
    throw new InvalidInput(
      `the camera is ${camera.width}×${camera.height} but the picture is ${input.width}×${input.height}; scale the ` +
        "intrinsics with it.",
    );
  }
  const features = select(input, recipe, tools, (done) => progress?.(0.8 * done));
  const count = features.scores.length;
  if (count === 0) return null;
  const nearest = tools.search.nearest(features.descriptors, (done) => progress?.(0.8 + 0.2 * done));
  const { groups } = tools.words;
  const trueWords = groups === null ? nearest : nearest.map((row) => at(groups, row));
  const event = subsetEvent(recipe.epsilon, count, tools.words.numWords, mechanism.subsetSize);
  checkPictureCost(tools.limits, event);
  if (tools.ledger !== "uncounted") {
    if (tools.random.reproducible) {
      throw new NotPrivate("a release that is charged to a ledger must not be made with a known seed.");
    }
    await tools.ledger.charge(event);
  }
  const release = canonical<WordRelease>({
    kind: "words",
    reproducible: tools.random.reproducible,
    keypoints: features.keypoints,
    width: features.width,
    height: features.height,
    extractor: features.extractor,
    camera,
    numWords: tools.words.numWords,
    subsetSize: mechanism.subsetSize,
    epsilon: recipe.epsilon,
    dictionary: tools.words.fingerprint,
    words: mechanism.draw(trueWords, tools.random),
  });
  progress?.(1);
  return release;
}

/** The features that may be released; they are still on the device. */
function select(input: Picture | Features, recipe: Recipe, tools: Tools, progress: Progress): Features {
  const found = "descriptors" in input ? input : tools.extractor.extract(input, progress);
  if (found.extractor !== tools.words.extractor || found.dimension !== tools.words.dimension) {
    throw new Mismatch(
      `the dictionary holds ${tools.words.extractor} words of ${tools.words.dimension} values, the picture has ` +
        `${found.extractor} features of ${found.dimension}; use one extractor for both.`,
    );
  }
  const strongest = recipe.maxKeypoints;
  const first: FilterSettings[] = strongest === undefined ? [] : [{ keep: "strongest", count: strongest }];
  return filterFeatures(found, [...first, ...(recipe.filters ?? [])]);
}
