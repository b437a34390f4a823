/** An answer beside the place: the verdict, how far it may be off, and the query's keypoints. */

import { costOf, decode, InvalidInput, type KeypointRelease, type Localization } from "@sfumato/device";
import { make, short, showFacts, thousands } from "../../../app/src/dom.ts";
import { inlierRows } from "./found.ts";
import { drawKeypoints } from "./keypoints.ts";
import { Unreadable } from "./problem.ts";

/** A release from its file; codes have no keypoints. */
export async function readReleaseFile(file: Blob): Promise<KeypointRelease> {
  if (file.size > 1 << 28) throw new Unreadable("This file is larger than any release; choose another.");
  const release = decode(new Uint8Array(await file.arrayBuffer()));
  if (release.kind === "codes") throw new InvalidInput("a release of codes has no keypoints to show.");
  return release;
}

export class AnswerCard {
  readonly element: HTMLElement;
  /** Stands where a person looks first. */
  readonly verdict = make("p", { class: "verdict", id: "place-verdict", role: "status" });
  readonly #warning = make("p", { class: "notice", hidden: "" });
  readonly #facts = make("dl", { class: "facts place-facts" });
  readonly #query = make("figure", { class: "place-query", hidden: "" });
  #shown: { readonly answer: Localization | null; readonly release: KeypointRelease | null } = { answer: null, release: null };

  constructor() {
    this.element = make("div", {}, this.#warning, this.#facts, this.#query);
    this.show(null, null);
  }

  /** The rows that agree; null where nobody said. */
  show(answer: Localization | null, release: KeypointRelease | null): ReadonlySet<number> | null {
    const inliers = answer !== null && release !== null ? inlierRows(answer, release) : null;
    this.#shown = { answer, release };
    this.verdict.textContent = verdictOf(answer);
    this.#warning.textContent = answer?.warning ?? "";
    this.#warning.hidden = answer?.warning == null;
    showFacts(this.#facts, answer === null ? [] : factsOf(answer));
    this.recolour();
    return inliers;
  }

  recolour(): void {
    const { answer, release } = this.#shown;
    this.#query.hidden = release === null;
    if (release === null) {
      this.#query.replaceChildren();
      return;
    }
    const inliers = answer === null ? null : inlierRows(answer, release);
    const meaning = inliers === null
      ? "Every keypoint of the query, where it lies in the picture."
      : `Full dots: the ${thousands(inliers.size)} keypoints that agree with the pose. Hollow: the other ${thousands(release.keypoints.length / 2 - inliers.size)}.`;
    this.#query.replaceChildren(
      drawKeypoints(release, inliers, getComputedStyle(this.element)),
      make("figcaption", {}, `${meaning} ${promiseOf(release)}`),
    );
  }
}

/** What the release promises, with unit and what is not protected; lifting and raw descriptors have no ε. */
export function promiseOf(release: KeypointRelease): string {
  const cost = costOf(release, 0);
  const open = `Not protected: ${cost.notProtected.join(", ")}.`;
  if (cost.epsilonPerUnit === null || cost.exactEpsilonPerPicture === null) return `This release carries no guarantee. ${open}`;
  return `It was sent with ε = ${short(cost.epsilonPerUnit)} per descriptor, E = ${short(cost.exactEpsilonPerPicture)} for the whole picture except with probability 10⁻⁶. ${open}`;
}

export function verdictOf(answer: Localization | null): string {
  if (answer === null) return "No answer is shown beside this place yet.";
  if (answer.pose === null) return `Not found: ${answer.reason ?? "no reason is given"}.`;
  const at = answer.pose.center.map((value) => value.toFixed(3)).join(", ");
  const error = answer.expectedError;
  const off = error === null ? "" : `, and nine times of ten that is at most ${short(error.position)} off`;
  return `The server finds the camera at ${at} in the map's unit${off}.`;
}

/** A whole number as an exponent. */
function raised(value: number): string {
  return value.toFixed(0).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹".charAt(Number(digit)));
}

function factsOf(answer: Localization): (readonly [string, string])[] {
  const facts: (readonly [string, string])[] = [["matches that agree with this place (inliers)", `${thousands(answer.numInliers)} of ${thousands(answer.numMatches)}`]];
  if (answer.expectedError !== null) {
    facts.push(["off by at most, nine times of ten, in the map's unit", short(answer.expectedError.position)], ["turned by at most, nine times of ten", `${short(answer.expectedError.rotationDeg)}°`]);
  }
  if (answer.pose !== null) facts.push(["places expected to be as good by pure chance", `10${raised(answer.log10Chance)}`]);
  if (answer.searched < 1) facts.push(["of the map's images were searched", `${Math.floor(100 * answer.searched)} %`]);
  return facts;
}
