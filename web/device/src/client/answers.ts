/**
 * What servers answer, read strictly: numbers are finite, lists are as long as they must be, and
 * what cannot be true is refused. Further fields may come with newer servers and are left alone.
 */
import { checkCamera, type Camera, type CameraModel } from "../camera.ts";
import { at } from "../checks.ts";
import { BadAnswer, SfumatoError } from "../errors.ts";
import { printable } from "./text.ts";
import { told, type Told } from "./told.ts";

/** A dictionary that a map can be asked with. */
export interface WordsInfo {
  readonly fingerprint: string;
  readonly numWords: number;
  readonly name: string | null;
}

/** A map on a server. */
export interface MapInfo {
  readonly id: string;
  readonly name: string;
  readonly extractor: string;
  /** Kinds of release that its owner takes. */
  readonly accepts: readonly string[];
  readonly dictionaries: readonly WordsInfo[];
  readonly numImages: number;
  readonly numPoints: number;
  readonly notice: string;
}

/** What a server recommends for one of its maps. ε holds per descriptor. */
export interface Advice {
  readonly epsilon: number;
  readonly numWords: number;
  readonly subsetSize: number;
  readonly maxKeypoints: number | null;
  readonly dictionary: string;
}

type Vector = readonly [number, number, number];

const MOST_INLIERS = 1 << 20;

/** Where a camera is: a point x of the world has coordinates R·x + t in the camera. */
export interface Pose {
  /** Rows of R, of cam_from_world. */
  readonly rotation: readonly [Vector, Vector, Vector];
  /** t of cam_from_world. */
  readonly translation: Vector;
  /** The position of the camera in the world. */
  readonly center: Vector;
}

/** How far a pose is expected to be off. */
export interface PoseError {
  /** In the world's unit. */
  readonly position: number;
  readonly rotationDeg: number;
  /** 6 × 6, of rotation and position. */
  readonly covariance: readonly (readonly number[])[];
}

/** Which keypoints agree with a pose. */
export interface Inliers {
  /** Rows of the release, in its own order; one row may stand here more than once. */
  readonly keypoints: readonly number[];
  /** The points of the map they saw, in the same order; null from a server, which keeps its map. */
  readonly points: readonly Vector[] | null;
}

/** A pose, or the reason why there is none. */
export interface Localization {
  readonly pose: Pose | null;
  /** Keypoints that agree with the pose, each counted once. */
  readonly numInliers: number;
  /** Candidate matches they were found among. */
  readonly numMatches: number;
  /** log10 of the expected number of poses at least this good by pure chance. */
  readonly log10Chance: number;
  readonly reason: string | null;
  /** Null where it is not known. */
  readonly expectedError: PoseError | null;
  /** What cannot be trusted, in one sentence. */
  readonly warning: string | null;
  /** The pose was computed with this one, where the given one clearly does not fit. */
  readonly camera: Camera | null;
  /** Share of the map's images that were looked at; below 1 `warning` says why. */
  readonly searched: number;
  /** Null where the answer does not name them. */
  readonly inliers: Inliers | null;
}

/** Some points of a map, and which way is up: to draw a pose among them. */
export interface MapPoints {
  readonly points: readonly Vector[];
  readonly up: Vector;
}

/** The maps of a server. */
export function readMaps(body: Uint8Array): MapInfo[] {
  return told(body, "a list of maps").field("maps").list(1 << 20).map(mapOf);
}

/** One map. */
export function readMap(body: Uint8Array): MapInfo {
  return mapOf(told(body, "a description of a map"));
}

function mapOf(map: Told): MapInfo {
  const id = map.field("id").text(64);
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) map.fail("its id is none");
  const count = (name: string): number => (map.field(name).isNull ? 0 : map.field(name).whole());
  return {
    id,
    name: map.field("name").text(),
    extractor: map.field("extractor").text(),
    accepts: map.field("accepts").list(16).map((kind) => kind.text()),
    dictionaries: map.field("dictionaries").list(1024).map((words) => ({
      fingerprint: words.field("fingerprint").fingerprint(),
      numWords: words.field("num_words").whole(2, 1 << 24),
      name: words.field("name").isNull ? null : words.field("name").text(),
    })),
    numImages: count("num_images"),
    numPoints: count("num_points"),
    notice: map.field("notice").isNull ? "" : map.field("notice").text(),
  };
}

/** Points of a map. */
export function readPoints(body: Uint8Array): MapPoints {
  const answer = told(body, "a list of points");
  const points = answer.field("points").list(1 << 17).map((point) => point.numbers(3) as unknown as Vector);
  return { points, up: answer.field("up").numbers(3) as unknown as Vector };
}

/** A plan. */
export function readAdvice(body: Uint8Array): Advice {
  const plan = told(body, "a plan");
  const most = plan.field("max_keypoints");
  return {
    epsilon: plan.field("epsilon").number(Number.MIN_VALUE, 64),
    numWords: plan.field("num_words").whole(2, 1 << 24),
    subsetSize: plan.field("subset_size").whole(1, 64),
    maxKeypoints: most.isNull ? null : most.whole(4, 1 << 24),
    dictionary: plan.field("dictionary").fingerprint(),
  };
}

/**
 * The pose a server found for a release of so many keypoints; what cannot be true is refused.
 *
 * A pose that is merely wrong cannot be told from here: only the server has the map.
 */
export function readAnswer(body: Uint8Array, keypoints: number): Localization {
  const answer = told(body, "a localization");
  const [numInliers, numMatches] = [answer.field("num_inliers").whole(), answer.field("num_matches").whole()];
  if (numInliers > keypoints || numInliers > numMatches) {
    throw new BadAnswer(
      `the server claims ${numInliers} inliers among ${numMatches} matches for ${keypoints} keypoints; the answer is not used.`,
    );
  }
  const pose = answer.field("cam_from_world").isNull ? null : poseOf(answer);
  if ((pose !== null) !== answer.field("localized").truth()) {
    throw new BadAnswer("the server contradicts itself on whether it found a pose.");
  }
  const sentence = (name: string): string | null =>
    answer.field(name).isNull ? null : printable(answer.field(name).text());
  const reason = sentence("reason");
  const error = answer.field("expected_error");
  return {
    ...{ pose, numInliers, numMatches },
    log10Chance: answer.field("log10_chance").number(),
    reason: pose === null ? (reason ?? "the server gave no reason") : reason,
    expectedError: error.isNull
      ? null
      : {
          position: error.field("position").number(0),
          rotationDeg: error.field("rotation_deg").number(0, 180),
          covariance: error.field("covariance").list(6, 6).map((row) => row.numbers(6)),
        },
    warning: sentence("warning"),
    camera: answer.field("camera").isNull ? null : cameraOf(answer.field("camera")),
    searched: answer.field("searched").isNull ? 1 : answer.field("searched").number(0, 1),
    inliers: answer.field("inliers").isNull ? null : inliersOf(answer.field("inliers"), keypoints),
  };
}

function inliersOf(inliers: Told, keypoints: number): Inliers {
  const rows = inliers.field("keypoints").list(MOST_INLIERS).map((row) => row.whole(0, Math.min(keypoints, 2 ** 32) - 1));
  const points = inliers.field("points");
  return { keypoints: rows, points: points.isNull ? null : points.list(rows.length, rows.length).map((point) => point.numbers(3) as unknown as Vector) };
}

function poseOf(answer: Told): Pose {
  const found = answer.field("cam_from_world");
  const rotation = found.field("rotation").list(3, 3).map((row) => row.numbers(3)) as unknown as Pose["rotation"];
  const translation = found.field("translation").numbers(3) as unknown as Vector;
  const center = answer.field("center").numbers(3) as unknown as Vector;
  const [a, b, c] = rotation;
  const dot = (x: Vector, y: Vector): number => x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
  const cross: Vector = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const off = [dot(a, a) - 1, dot(b, b) - 1, dot(a, b), cross[0] - c[0], cross[1] - c[1], cross[2] - c[2]];
  if (off.some((value) => Math.abs(value) > 1e-6)) {
    throw new BadAnswer("the server's pose cannot be one: its rotation is no proper rotation matrix.");
  }
  const size = 1 + Math.max(...translation.map(Math.abs));
  const expected = [0, 1, 2].map((i) => -(at(a, i) * translation[0] + at(b, i) * translation[1] + at(c, i) * translation[2]));
  if (expected.some((value, i) => Math.abs(value - at(center, i)) > 1e-6 * size)) {
    throw new BadAnswer("the server's pose and the center it gives are not the same place.");
  }
  return { rotation, translation, center };
}

function cameraOf(camera: Told): Camera {
  const found: Camera = {
    model: camera.field("model").text() as CameraModel,
    width: camera.field("width").whole(),
    height: camera.field("height").whole(),
    params: camera.field("params").list(16).map((value) => value.number()),
  };
  try {
    checkCamera(found);
  } catch (error) {
    const why = error instanceof SfumatoError ? printable(error.message) : "unknown";
    throw new BadAnswer(`the server's camera cannot be one: ${why}`);
  }
  return found;
}
