/** A localization as it is shown: the pose, its inliers, and how far it may be off. */

import { readAnswer, SfumatoError, type Camera, type KeypointRelease, type Localization } from "@sfumato/device";
import { halfOf, type ShownCamera } from "./model.ts";
import { Unreadable } from "./problem.ts";
import { eigen, minus, type Matrix, type Vector } from "./vectors.ts";

/** χ² of three degrees at 0.9: nine positions of ten lie within this many squared deviations. */
const NINE_OF_TEN = 6.251388631170325;
const USUAL_HALF: readonly [number, number] = [0.577, 0.433];
const LARGEST = 1 << 26;

/** An ellipsoid that holds the camera's true position nine times of ten. */
export interface Ellipsoid {
  readonly center: Vector;
  /** Half axes, longest first, and their directions. */
  readonly sizes: Vector;
  readonly axes: Matrix;
}

/** What is drawn of an answer. */
export interface Found {
  readonly camera: ShownCamera | null;
  readonly ellipsoid: Ellipsoid | null;
  /** Points of the map that agree; none where the answer does not name them. */
  readonly points: readonly Vector[];
}

/** The answer of a file that `sfumato localize --json` wrote. */
export async function readAnswerFile(file: Blob): Promise<Localization> {
  if (file.size > LARGEST) throw new Unreadable("This file is larger than any answer of “sfumato localize --json”; choose another.");
  try {
    return readAnswer(new Uint8Array(await file.arrayBuffer()), Infinity);
  } catch (error) {
    if (!(error instanceof SfumatoError)) throw error;
    const why = error.message.replace(/^the server's answer is not a localization: /, "");
    throw new Unreadable(`This is not what “sfumato localize --json” writes: ${why}`);
  }
}

/** What to draw of an answer in a place with this origin. The camera: what the pose was computed with. */
export function foundOf(answer: Localization, asked: Camera | null, origin: Vector): Found {
  if (answer.pose === null) return { camera: null, ellipsoid: null, points: [] };
  const camera = answer.camera ?? asked;
  const half = camera === null ? null : halfOf(camera.model, camera.width, camera.height, camera.params);
  const center = minus(answer.pose.center, origin);
  return {
    camera: { name: "the place that was found", center, rotation: answer.pose.rotation, half: half ?? USUAL_HALF },
    ellipsoid: ellipsoidOf(answer.expectedError?.covariance ?? null, center),
    points: (answer.inliers?.points ?? []).map((point) => minus(point, origin)),
  };
}

/** Of the center's part of a 6 × 6 covariance; null where it says nothing. */
export function ellipsoidOf(covariance: readonly (readonly number[])[] | null, center: Vector): Ellipsoid | null {
  if (covariance === null) return null;
  const row = (i: number): Vector => {
    const [x = NaN, y = NaN, z = NaN] = covariance[i]?.slice(3) ?? [];
    return [x, y, z];
  };
  const part: Matrix = [row(3), row(4), row(5)];
  if (!part.flat().every(Number.isFinite)) return null;
  const { values, vectors } = eigen(part);
  const size = (value: number): number => Math.sqrt(NINE_OF_TEN * Math.max(0, value));
  return { center, sizes: [size(values[0]), size(values[1]), size(values[2])], axes: vectors };
}

/** Rows of a release whose keypoints agree with the pose; null where the answer does not say which. */
export function inlierRows(answer: Localization, release: KeypointRelease): ReadonlySet<number> | null {
  if (answer.inliers === null) return null;
  const count = release.keypoints.length / 2;
  if (answer.inliers.keypoints.some((row) => row >= count)) {
    throw new Unreadable(`The answer names keypoints that this release of ${count.toLocaleString("en")} does not have; open the release that was asked with.`);
  }
  return new Set(answer.inliers.keypoints);
}
