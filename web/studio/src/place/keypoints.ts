/** The query as the server sees it: dots in an empty picture, coloured by whether they agree with the pose. */

import type { KeypointRelease } from "@sfumato/device";
import { make } from "../../../app/src/dom.ts";

/** Draw all keypoints; `inliers` null: nobody said which agree. */
export function drawKeypoints(release: KeypointRelease, inliers: ReadonlySet<number> | null, style: CSSStyleDeclaration): HTMLCanvasElement {
  const count = release.keypoints.length / 2;
  const label = inliers === null
    ? `${count.toLocaleString("en")} keypoints of the query`
    : `${count.toLocaleString("en")} keypoints of the query, ${inliers.size.toLocaleString("en")} of them agree with the pose`;
  const scale = Math.min(2, 1280 / Math.max(release.width, release.height));
  const canvas = make("canvas", { class: "place-keypoints", role: "img", "aria-label": label });
  canvas.width = Math.max(1, Math.round(release.width * scale));
  canvas.height = Math.max(1, Math.round(release.height * scale));
  const context = canvas.getContext("2d");
  if (context === null) return canvas;
  const [other, agrees] = [style.getPropertyValue("--dots"), style.getPropertyValue("--paper")];
  const dot = Math.max(2, Math.min(canvas.width, canvas.height) / 160);
  for (const wanted of [false, true]) {
    context.fillStyle = context.strokeStyle = wanted ? agrees : other;
    context.lineWidth = dot / 3;
    for (let row = 0; row < count; row++) {
      if ((inliers?.has(row) ?? false) !== wanted) continue;
      const [x, y] = [(release.keypoints[2 * row] ?? 0) + 0.5, (release.keypoints[2 * row + 1] ?? 0) + 0.5];
      context.beginPath();
      context.arc(x * scale, y * scale, wanted ? 1.25 * dot : dot, 0, 2 * Math.PI);
      // A hollow dot and a full one: told apart without colours too.
      if (wanted) context.fill();
      else context.stroke();
    }
  }
  return canvas;
}
