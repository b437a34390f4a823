/** What a device lets out, whatever a server recommends: the last look before anything leaves. */
import { checkCount, checkEpsilon, checkNumber } from "./checks.ts";
import type { Dictionary } from "./dictionary/dictionary.ts";
import { InvalidInput, Mismatch, NotPrivate } from "./errors.ts";
import { Composition, DELTA } from "./privacy/accounting.ts";
import { answersOf, eventOf, type PrivacyEvent } from "./privacy/event.ts";
import type { KeypointRelease, Release } from "./wire/releases.ts";

/** The limits of a device. */
export interface Limits {
  /** The most ε per descriptor; with a limit nothing leaves without a guarantee. Left out: no limit. */
  readonly maxEpsilon?: number | undefined;
  /** The smallest |K|; 1024 where none is given. */
  readonly minWords?: number | undefined;
  /** The most a picture may cost by exact composition: E at δ = 10⁻⁶. Left out: no limit. */
  readonly maxExact?: number | undefined;
}

/** Refuse limits that cannot be meant. */
export function checkLimits(limits: Limits): void {
  if (limits.maxEpsilon !== undefined) checkEpsilon(limits.maxEpsilon);
  if (limits.maxExact !== undefined && !(checkNumber("maxExact", limits.maxExact) > 0)) {
    throw new InvalidInput(`maxExact must be above 0, got ${limits.maxExact}.`);
  }
  checkCount("minWords", limits.minWords ?? 1024, 2);
}

/** Refuse a release with this ε per descriptor (null: it has no guarantee) and |K|. */
export function checkAllowed(limits: Limits, epsilon: number | null, numWords: number | null): void {
  const { maxEpsilon, minWords = 1024 } = limits;
  if (maxEpsilon !== undefined && (epsilon === null || epsilon > maxEpsilon)) {
    const what = epsilon === null || epsilon === Infinity ? "no guarantee" : `ε = ${epsilon} per descriptor`;
    throw new NotPrivate(
      `this device lets out at most ε = ${maxEpsilon} per descriptor, the release has ${what}; nothing was sent.`,
    );
  }
  if (numWords !== null && numWords < minWords) {
    throw new NotPrivate(
      `this device uses dictionaries of at least ${minWords} words, this one has ${numWords}; nothing was sent.`,
    );
  }
}

/** Refuse a picture that would cost more than the limit, or has no guarantee. */
export function checkPictureCost(limits: Limits, event: PrivacyEvent): void {
  if (limits.maxExact === undefined) return;
  const cost = event.epsilon === null ? Infinity : new Composition(answersOf(event)).epsilon();
  if (cost > limits.maxExact) {
    const what = cost === Infinity ? "no guarantee" : `E = ${Number(cost.toPrecision(3))}`;
    throw new NotPrivate(
      `this device lets out at most E = ${limits.maxExact} per picture at δ = ${DELTA}, this one has ${what}; nothing ` +
        "was sent. Send fewer keypoints, or a smaller ε per descriptor.",
    );
  }
}

/** The last look at a release before it leaves, wherever it came from. */
export function checkLeaving(release: Release, limits: Limits, dictionary: Dictionary | null): KeypointRelease {
  if (release.reproducible) {
    throw new NotPrivate(
      "this release was made with a known seed, which undoes its noise; it is not sent. Make one without a seed.",
    );
  }
  if (release.kind === "codes") throw new InvalidInput("a release of codes cannot be localized; it was not sent.");
  if (release.camera === null) {
    throw new InvalidInput(
      "a pose needs the camera's intrinsics and the release carries none; protect with a camera. Nothing was sent.",
    );
  }
  if (release.keypoints.length === 0) {
    throw new InvalidInput("the release has no keypoints; there is nothing to ask with it.");
  }
  const event = eventOf(release);
  checkPictureCost(limits, event);
  checkAllowed(limits, event.epsilon, release.kind === "words" ? release.numWords : null);
  if (release.kind === "words" && dictionary !== null && !dictionary.allowed.has(release.dictionary)) {
    throw new Mismatch(
      `the release has words of ${release.dictionary.slice(0, 16)}…, this device pinned ` +
        `${dictionary.fingerprint.slice(0, 16)}…; it was not sent.`,
    );
  }
  return release;
}
