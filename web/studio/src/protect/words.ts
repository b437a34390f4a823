/** The sentences of Protect: what leaves, what stays, what is promised. */

import type { Cost, Features } from "@sfumato/device";
import { make, thousands } from "../../../app/src/dom.ts";
import { guarantee } from "../../../app/src/sentences.ts";

export const STAYS =
  "The photograph stays in this tab. So does what each keypoint really looks like: a server is told a word of a public list instead, and often a wrong one, on purpose.";

export const NOTHING_LEFT = {
  blank: "Nothing leaves: no keypoint was found in this photograph.",
  hidden: "Nothing leaves: every keypoint is hidden. Show a part of the photograph again.",
} as const;

/** The verdict: what leaves, in one sentence. */
export function leavesSentence({ bytes, keypoints, trueWordSent }: Cost, { height, width }: Features): string {
  const often = Math.round(100 * (trueWordSent ?? 1));
  return (
    `What leaves: ${thousands(keypoints)} dots and a word for each, ${thousands(bytes)} bytes instead of ${thousands(3 * width * height)} of pixels. ` +
    `${often} of 100 words are true; nothing tells which.`
  );
}

/** The guarantee in words, the verdict of it first. */
export function guaranteeOf(cost: Cost): HTMLElement[] {
  const { advantagePerObject, delta, dictionaryWords, epsilonPerUnit, exactEpsilonPerPicture, keypoints, objectSeenBy, trueWordSent } = cost;
  const [verdict = "", ...rest] = guarantee({
    epsilon: epsilonPerUnit ?? Infinity,
    numWords: dictionaryWords ?? 0,
    subsetSize: 1,
    keypoints,
    keepProbability: trueWordSent ?? 1,
    exact: exactEpsilonPerPicture ?? Infinity,
    delta,
    seenBy: objectSeenBy,
    advantage: advantagePerObject ?? 1,
  });
  return [make("p", {}, make("strong", {}, verdict)), ...rest.map((text) => make("p", {}, text))];
}
