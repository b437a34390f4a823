/** What ε means, in the words that all of sfumato uses for it. */

import { make, short, thousands } from "./dom.ts";

/** What a release costs, counted exactly. */
export interface Cost {
  readonly epsilon: number;
  readonly numWords: number;
  readonly subsetSize: number;
  readonly keypoints: number;
  readonly keepProbability: number;
  /** E of the whole picture at `delta`. */
  readonly exact: number;
  readonly delta: number;
  /** Descriptors that see a small object, and the advantage of who guesses about it. */
  readonly seenBy: number;
  readonly advantage: number;
}

export const NOT_PROTECTED =
  "Not protected: the positions of the keypoints, their number, the size of the picture and the camera, and the pose a server computes from them.";

/** The guarantee of a release, one paragraph each; the first is the verdict. */
export function guarantee(cost: Cost): readonly string[] {
  const { epsilon, keypoints } = cost;
  const odds = epsilon >= 2 ? thousands(Math.exp(epsilon)) : Math.exp(epsilon).toFixed(2);
  const guess = guessSentence(cost.advantage);
  return [
    `Whoever guesses between two contents of a small object ${guess}.`,
    `That is for an object that ${cost.seenBy} keypoints see, and for someone who knows everything else.`,
    `Per keypoint: ε = ${short(epsilon)}. One of ${thousands(cost.numWords)} public words is sent, the true one with ` +
      `probability ${cost.keepProbability.toFixed(3)}; any answer is at most ${odds} times as likely as for another content.`,
    `Whole picture of ${thousands(keypoints)} keypoints: E = ${short(cost.exact)} except with probability ` +
      `${exponent(cost.delta)}; never more than N·ε = ${short(keypoints * epsilon)}.`,
    NOT_PROTECTED,
  ];
}

/** The guarantee on the page; `real`: of this picture, not of the settings alone. */
export function showGuarantee(place: HTMLElement, cost: Cost | null, real: boolean): void {
  if (cost === null) {
    place.replaceChildren(make("p", {}, NOT_PROTECTED));
    return;
  }
  const [verdict = "", ...rest] = guarantee(cost);
  const about = real ? [] : [make("p", { class: "small" }, `For a picture of ${thousands(cost.keypoints)} keypoints:`)];
  place.replaceChildren(...about, make("p", {}, make("strong", {}, verdict)), ...rest.map((text) => make("p", {}, text)));
}

/** How often a guess between two may be right. */
export function guessSentence(advantage: number): string {
  const right = Math.ceil(50 + 50 * advantage - 1e-9);
  return `may be right ${right >= 100 ? "every time" : `at most ${right} times in 100`}, where guessing is right 50 times`;
}

function exponent(value: number): string {
  const [digits, power] = value.toExponential().split("e");
  const raised = (power ?? "0").replace("+", "").replace(/[0-9]/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹".charAt(Number(digit))).replace("-", "⁻");
  return digits === "1" ? `10${raised}` : `${digits ?? ""}·10${raised}`;
}
