/** COLMAP's text files: a record per line, two lines per image, # before remarks. */

import { Cloud } from "./cloud.ts";
import type { Lenses, PosedImage } from "./colmap.ts";
import { halfOf } from "./model.ts";
import { many, Unreadable } from "./problem.ts";
import { linesOf, type Progress } from "./stream.ts";

export async function readPointsText(file: Blob, progress: Progress): Promise<Cloud> {
  const cloud = new Cloud(true);
  let number = 0;
  for await (const lines of linesOf(file, "points3D.txt", progress)) {
    for (const line of lines) {
      number++;
      if (line === "" || line.startsWith("#") || line.trim() === "") continue;
      const fields = line.trimStart().split(" ", 8);
      const [, x, y, z, red, green, blue, error] = fields.map(Number);
      if (fields.length < 8 || error === undefined) {
        throw new Unreadable(`points3D.txt is cut or damaged in line ${many(number)}: a point has at least eight fields.`);
      }
      cloud.add(x ?? NaN, y ?? NaN, z ?? NaN, red, green, blue);
    }
  }
  return cloud;
}

export async function readCamerasText(file: Blob): Promise<Lenses> {
  const lenses: Lenses = new Map();
  for await (const lines of linesOf(file, "cameras.txt")) {
    for (const line of lines) {
      const fields = line.trim().split(/\s+/);
      if (line.trim() === "" || line.startsWith("#")) continue;
      const [id, model, width, height, ...params] = fields;
      if (model === undefined || params.length < 1) throw new Unreadable("cameras.txt is cut or damaged: a camera has an id, a model, a size and parameters.");
      lenses.set(Number(id), halfOf(model, Number(width), Number(height), params.map(Number)));
    }
  }
  return lenses;
}

export async function readImagesText(file: Blob, progress: Progress): Promise<PosedImage[]> {
  const images: PosedImage[] = [];
  let expectsImage = true;
  for await (const lines of linesOf(file, "images.txt", progress)) {
    for (const line of lines) {
      if (line.startsWith("#")) continue;
      if (!expectsImage) {
        expectsImage = true; // the second line: keypoints, which may be none
        continue;
      }
      if (line.trim() === "") continue;
      const fields = line.trim().split(/\s+/);
      const [, w, x, y, z, tx, ty, tz, camera] = fields.map(Number);
      const name = fields.slice(9).join(" ");
      if (name === "" || camera === undefined) throw new Unreadable("images.txt is cut or damaged: an image has an id, a pose, a camera and a name.");
      images.push({ name, quaternion: [w ?? NaN, x ?? NaN, y ?? NaN, z ?? NaN], translation: [tx ?? NaN, ty ?? NaN, tz ?? NaN], camera });
      expectsImage = false;
    }
  }
  return images;
}
