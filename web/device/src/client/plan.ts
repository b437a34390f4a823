/** A server's recommendation, taken within a device's own limits. */
import type { Dictionary } from "../dictionary/dictionary.ts";
import { Mismatch, NotPrivate } from "../errors.ts";
import { checkAllowed, type Limits } from "../limits.ts";
import type { Recipe } from "../protect.ts";
import type { Advice, MapInfo } from "./answers.ts";
import { printable } from "./text.ts";

/** How pictures are protected; what is left out was left open and may follow a plan. */
export interface Choice extends Recipe {
  /** |K|: a level of the dictionary. Left out: the one that fits ε. */
  readonly numWords?: number | undefined;
}

/**
 * The choice with a server's advice taken, and what changed, in words.
 *
 * Advice beyond a limit is refused as a whole: a server cannot raise ε, nor make the dictionary
 * small, nor bring in other words. What was chosen here stays.
 */
export function follow(choice: Choice, advice: Advice, limits: Limits, dictionary: Dictionary): { choice: Choice; changes: string[] } {
  if (advice.epsilon > choice.epsilon) {
    throw new NotPrivate(
      `the server recommends ε = ${advice.epsilon} per descriptor, this device was given ${choice.epsilon}; its plan is ` +
        "not taken.",
    );
  }
  checkAllowed(limits, advice.epsilon, advice.numWords);
  if (!dictionary.family.has(advice.dictionary)) {
    throw new Mismatch(
      `the server's plan is for the words ${advice.dictionary.slice(0, 16)}…, this device's are ` +
        `${dictionary.fingerprint.slice(0, 16)}…; it is not taken.`,
    );
  }
  const changes: string[] = [];
  let taken = choice;
  if (advice.epsilon < choice.epsilon) {
    taken = { ...taken, epsilon: advice.epsilon };
    changes.push(`ε = ${advice.epsilon} per descriptor instead of ${choice.epsilon}`);
  }
  if (choice.numWords === undefined) {
    const own = dictionary.atEpsilon(choice.epsilon, choice.subsetSize ?? 1).numWords;
    const { numWords } = dictionary.at(advice.numWords); // says which levels there are, if not this one
    taken = { ...taken, numWords };
    if (numWords !== own) changes.push(`${numWords} words instead of ${own}`);
  }
  if (choice.subsetSize === undefined && advice.subsetSize !== 1) {
    taken = { ...taken, subsetSize: advice.subsetSize };
    changes.push(`ω = ${advice.subsetSize} words per keypoint instead of 1`);
  }
  if (advice.maxKeypoints !== null && advice.maxKeypoints < (choice.maxKeypoints ?? Infinity)) {
    taken = { ...taken, maxKeypoints: advice.maxKeypoints };
    changes.push(`the ${advice.maxKeypoints} strongest keypoints`);
  }
  return { choice: taken, changes };
}

/** Refuse before charging what the server would refuse after it. */
export function checkMap(map: MapInfo, dictionary: Dictionary): void {
  if (map.extractor !== dictionary.extractor) {
    throw new Mismatch(
      `the map holds ${printable(map.extractor, 40)} features, this device extracts ${dictionary.extractor}; nothing ` +
        "was charged or sent.",
    );
  }
  if (!map.accepts.includes("words")) {
    throw new Mismatch(
      `the map is asked with releases of ${map.accepts.map((kind) => printable(kind, 20)).join(", ")}, this device ` +
        "makes words; nothing was charged or sent.",
    );
  }
  const offered = map.dictionaries.map((words) => words.fingerprint);
  if (!offered.some((fingerprint) => dictionary.family.has(fingerprint))) {
    const names = offered.map((fingerprint) => `${fingerprint.slice(0, 16)}…`).join(", ");
    throw new Mismatch(
      `this device's words are ${dictionary.fingerprint.slice(0, 16)}…, the map can be asked with ` +
        `${names === "" ? "none" : names}; nothing was charged or sent.`,
    );
  }
}
