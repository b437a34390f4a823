/** A COLMAP model: cameras, images and points3D, as text or binary. */

import { readCamerasBinary, readImagesBinary, readPointsBinary } from "./colmap-binary.ts";
import { readCamerasText, readImagesText, readPointsText } from "./colmap-text.ts";
import type { Cloud } from "./cloud.ts";
import { MOST_CAMERAS, upOf, type Model, type ShownCamera } from "./model.ts";
import { many, Unreadable } from "./problem.ts";
import type { Progress } from "./stream.ts";
import { centerOf, isFiniteVector, minus, rotationOf, type Vector } from "./vectors.ts";

/** Half of a picture's sides over the focal length, by the camera's number. */
export type Lenses = Map<number, readonly [number, number] | null>;

/** An image as the file has it. */
export interface PosedImage {
  readonly name: string;
  readonly quaternion: readonly [number, number, number, number];
  readonly translation: Vector;
  readonly camera: number;
}

export async function readColmap(files: ReadonlyMap<string, Blob>, name: string, progress: Progress): Promise<Model> {
  const part = (stem: string): readonly [Blob, boolean] | null => {
    const binary = files.get(`${stem}.bin`);
    const text = files.get(`${stem}.txt`);
    return binary !== undefined ? [binary, true] : text !== undefined ? [text, false] : null;
  };
  const [cameras, images, points] = [part("cameras"), part("images"), part("points3D")];
  if (points === null) throw new Unreadable("This COLMAP model has no points3D file; export the whole model.");
  const notes: string[] = [];
  const cloud: Cloud = await (points[1] ? readPointsBinary : readPointsText)(points[0], (done) => { progress(0.8 * done); });
  const kept = cloud.finish("this COLMAP model");
  if (kept.points.length === 0) {
    throw new Unreadable("This COLMAP model has no points: nothing was triangulated. Choose another of its models, or reconstruct again.");
  }
  let shown: ShownCamera[] = [];
  if (cameras === null || images === null) {
    notes.push("Cameras are not shown: the model has no cameras or no images file.");
  } else {
    const lenses = await (cameras[1] ? readCamerasBinary : readCamerasText)(cameras[0]);
    const posed = await (images[1] ? readImagesBinary : readImagesText)(images[0], (done) => { progress(0.8 + 0.2 * done); });
    shown = posed.slice(0, MOST_CAMERAS).flatMap((image) => cameraOf(image, lenses, kept.origin));
    const odd = Math.min(posed.length, MOST_CAMERAS) - shown.length;
    if (odd > 0) notes.push(`${many(odd)} cameras are not shown: their poses or lenses are impossible or missing.`);
    if (posed.length > MOST_CAMERAS) notes.push(`The first ${many(MOST_CAMERAS)} of ${many(posed.length)} cameras are shown.`);
  }
  progress(1);
  return { kind: "colmap", name, cameras: shown, up: upOf(shown), total: cloud.total, ...kept, notes: [...kept.notes, ...notes] };
}

function cameraOf(image: PosedImage, lenses: Lenses, origin: Vector): ShownCamera[] {
  const rotation = rotationOf(image.quaternion);
  const half = lenses.get(image.camera) ?? null;
  if (rotation === null || half === null || !isFiniteVector(image.translation)) return [];
  return [{ name: image.name, center: minus(centerOf(rotation, image.translation), origin), rotation, half }];
}
