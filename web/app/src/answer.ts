/** What the server answered, as a person reads it. */

import type { Localization } from "@sfumato/device";
import { byId, short, showFacts, tell, thousands } from "./dom.ts";
import type { Place } from "./place.ts";

/** What is told beside the answer itself. */
export interface Asked {
  readonly bytes: number;
  readonly milliseconds: number;
  readonly budgetLeft: number;
  /** Half of the picture's width and height, over the focal length. */
  readonly half: readonly [number, number];
}

/** What the last answer said does not stand beside the next question. */
export function forgetAnswer(place: Place): void {
  showFacts(byId("answer-facts"), []);
  tell(byId("warning"), "");
  place.point(null);
}

export function showAnswer(answer: Localization, asked: Asked, place: Place): void {
  const verdict = byId("answer");
  const facts: (readonly [string, string])[] = [];
  if (answer.pose === null) {
    tell(verdict, `Not found: ${answer.reason ?? "the server gave no reason"}.`, "error");
    place.point(null);
  } else {
    const error = answer.expectedError;
    tell(verdict, `Found: you are at ${answer.pose.center.map((value) => value.toFixed(3)).join(", ")} of the map, in its unit.`);
    place.point({ center: answer.pose.center, rotation: answer.pose.rotation, half: asked.half });
    if (error !== null) facts.push(["expected error in the map's unit and degrees; nine poses of ten are nearer", `${short(error.position)} · ${short(error.rotationDeg)}°`]);
  }
  facts.push(["inliers of matches", `${thousands(answer.numInliers)} of ${thousands(answer.numMatches)}`]);
  facts.push(["bytes sent", thousands(asked.bytes)], ["time to the answer", `${thousands(asked.milliseconds)} ms`]);
  facts.push(["budget left, N·ε", thousands(asked.budgetLeft)]);
  if (answer.camera !== null) facts.push(["focal length the server found, pixels", short(answer.camera.params[0] ?? 0)]);
  if (answer.searched < 1) facts.push(["of the map's images were searched", `${Math.floor(100 * answer.searched)} %`]);
  showFacts(byId("answer-facts"), facts);
  tell(byId("warning"), answer.warning ?? (answer.searched < 1 ? "Only a part of the map was searched." : ""));
}
