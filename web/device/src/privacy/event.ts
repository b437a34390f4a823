/** What one release spends, in figures and words. The ledger sees this, never data. */
import { Composition, DELTA, type PrivateAnswers } from "./accounting.ts";
import { subsetCoin, chanceOf } from "./odds.ts";
import type { KeypointRelease } from "../wire/releases.ts";

/** Sent in the clear with every keypoint release, whatever the mechanism. */
export const NOT_PROTECTED: readonly string[] = [
  "the positions of the keypoints",
  "their number",
  "the size of the picture and the camera",
  "the pose a server computes from them",
];

/** What one release spends. */
export interface PrivacyEvent {
  readonly mechanism: string;
  /** The loss per unit; null where there is no guarantee. */
  readonly epsilon: number | null;
  /** How many units one picture holds; they compose to numUnits·ε. */
  readonly numUnits: number;
  readonly unit: string;
  readonly notProtected: readonly string[];
  /** From how many values an answer is drawn; null where only ε is known. */
  readonly numValues: number | null;
  readonly subsetSize: number;
}

/** What a release of so many words spends. */
export function subsetEvent(epsilon: number, numUnits: number, numWords: number, subsetSize: number): PrivacyEvent {
  const finite = Number.isFinite(epsilon);
  return {
    mechanism: finite ? "subset" : "quantize",
    epsilon: finite ? epsilon : null,
    numUnits,
    unit: "one descriptor",
    notProtected: finite ? NOT_PROTECTED : ["the nearest words", ...NOT_PROTECTED],
    numValues: numWords,
    subsetSize,
  };
}

/** The answers of an event, as exact composition counts them. */
export function answersOf(event: PrivacyEvent): PrivateAnswers[] {
  const { numValues, subsetSize, numUnits: count } = event;
  return [{ epsilon: event.epsilon ?? Infinity, numValues, subsetSize, count }];
}

/** An object for which a guarantee is shown: about a small face. */
export const SMALL_OBJECT = 10;

/** What a release costs, as it is shown to a person. */
export interface Cost {
  readonly mechanism: string;
  readonly bytes: number;
  readonly keypoints: number;
  /** ω and |K|; null where no words are sent. */
  readonly wordsPerKeypoint: number | null;
  readonly dictionaryWords: number | null;
  /** How likely the true word of a keypoint is among those sent. */
  readonly trueWordSent: number | null;
  readonly unit: string;
  /** ε per unit; null: no guarantee. */
  readonly epsilonPerUnit: number | null;
  /** N·ε, the largest loss; null: no guarantee. */
  readonly epsilonPerPicture: number | null;
  /** E of the whole picture at δ by exact composition; null: no guarantee. */
  readonly exactEpsilonPerPicture: number | null;
  readonly delta: number;
  /** For an object that so many descriptors see. */
  readonly objectSeenBy: number;
  readonly exactEpsilonPerObject: number | null;
  /** Who guesses between two contents of it is right with probability (1 + advantage)/2 at most. */
  readonly advantagePerObject: number | null;
  readonly notProtected: readonly string[];
}

/** What a release says about its own cost: the same facts whether it is fresh or was kept. */
export function costOf(release: KeypointRelease, bytes: number): Cost {
  const event = eventOf(release);
  const words = release.kind === "words" ? release : null;
  const seen = Math.min(SMALL_OBJECT, event.numUnits);
  const composed = (numUnits: number): Composition | null =>
    event.epsilon === null ? null : new Composition(answersOf({ ...event, numUnits }));
  const [picture, object] = [composed(event.numUnits), composed(seen)];
  return {
    mechanism: event.mechanism,
    bytes,
    keypoints: event.numUnits,
    wordsPerKeypoint: words?.subsetSize ?? null,
    dictionaryWords: words?.numWords ?? null,
    trueWordSent: words && chanceOf(subsetCoin(words.epsilon, words.numWords, words.subsetSize)),
    unit: event.unit,
    epsilonPerUnit: event.epsilon,
    epsilonPerPicture: picture?.largest ?? null,
    exactEpsilonPerPicture: picture?.epsilon() ?? null,
    delta: DELTA,
    objectSeenBy: seen,
    exactEpsilonPerObject: object?.epsilon() ?? null,
    advantagePerObject: object?.advantage ?? null,
    notProtected: event.notProtected,
  };
}

/** What a release of any kind with keypoints spends. */
export function eventOf(release: KeypointRelease): PrivacyEvent {
  const numUnits = release.keypoints.length / 2;
  if (release.kind === "words") {
    return subsetEvent(release.epsilon, numUnits, release.numWords, release.subsetSize);
  }
  const exposed = {
    plain: ["the descriptors themselves"],
    candidates: [],
    subspaces: ["the descriptors, against known attacks"],
  }[release.kind];
  return {
    mechanism: release.kind === "subspaces" ? `lifting (m = ${release.dimension})` : release.kind,
    epsilon: release.kind === "candidates" ? release.epsilon : null,
    numUnits,
    unit: "one descriptor",
    notProtected: [...exposed, ...NOT_PROTECTED],
    numValues: null,
    subsetSize: 1,
  };
}
