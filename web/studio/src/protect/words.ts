/** The sentences of Protect: what leaves, what stays, what is promised. */

import type { Cost, Features } from "@sfumato/device";
import { make, thousands } from "../../../app/src/dom.ts";
import { guarantee } from "../../../app/src/sentences.ts";

/** A share of true words above which a painter reads the picture, as in Attack. */
const MOST = 0.5;

export const NOTHING_LEFT = {
  blank: "Nothing leaves: no keypoint was found in this photograph.",
  hidden: "Nothing leaves: every keypoint is hidden. Show a part of the photograph again.",
} as const;

/** The verdict: what leaves, in one sentence. */
export function leavesSentence({ bytes, keypoints }: Cost, { height, width }: Features): string {
  return `What leaves: ${thousands(keypoints)} dots and a word for each, ${thousands(bytes)} bytes instead of ${thousands(3 * width * height)} of pixels.`;
}

/** What dots and words are, what stays, and what could be painted; for whoever never heard of ε. */
export function inShort({ dictionaryWords, trueWordSent }: Cost): HTMLElement[] {
  const truth = trueWordSent ?? 1;
  const painted = truth > MOST ? "much of the scene, for most words are true" : "grey shapes that follow the dots; where dots lie dense, outlines";
  return [
    told("A dot", "is a corner or a spot that a camera would find again. Its word is the number of one of " +
      `${thousands(dictionaryWords ?? 0)} small patterns on a public list. ${Math.round(100 * truth)} of 100 words are true, the others are wrong on purpose, and nothing tells which.`),
    told("What stays:", "the photograph, and what each dot really looks like."),
    told("What a server could paint:", `from these words ${painted}. From raw features, which most systems send, the scene with its faces. `, make("a", { href: "#attack" }, "See both painted →")),
  ];
}

function told(name: string, text: string, ...more: Node[]): HTMLElement {
  return make("p", {}, make("b", {}, name), ` ${text}`, ...more);
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
