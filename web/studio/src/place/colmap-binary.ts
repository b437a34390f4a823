/** COLMAP's binary files: little-endian, a count, then one record after the other. */

import { Cloud } from "./cloud.ts";
import type { Lenses, PosedImage } from "./colmap.ts";
import { halfOf } from "./model.ts";
import { many, Unreadable } from "./problem.ts";
import { ByteStream, type Progress } from "./stream.ts";

/** Names and numbers of parameters, by COLMAP's number of the model. */
const MODELS: readonly (readonly [string, number])[] = [
  ["SIMPLE_PINHOLE", 3], ["PINHOLE", 4], ["SIMPLE_RADIAL", 4], ["RADIAL", 5], ["OPENCV", 8], ["OPENCV_FISHEYE", 8],
  ["FULL_OPENCV", 12], ["FOV", 5], ["SIMPLE_RADIAL_FISHEYE", 4], ["RADIAL_FISHEYE", 5], ["THIN_PRISM_FISHEYE", 12],
  ["RAD_TAN_THIN_PRISM_FISHEYE", 16],
];
const LEAST_POINT = 43; // bytes: id, position, colour, error, length of the track
const LEAST_IMAGE = 73;
const LEAST_CAMERA = 48;
const LONGEST_NAME = 4096;

async function announced(stream: ByteStream, what: string, least: number): Promise<number> {
  const count = await stream.count();
  if (count * least > stream.left) {
    throw new Unreadable(
      `${stream.name} announces ${many(count)} ${what}, which need at least ${many(count * least)} bytes, and ${many(stream.left)} are there: ` +
        "it is cut, damaged, or its bytes are in another order.",
    );
  }
  return count;
}

export async function readPointsBinary(file: Blob, progress: Progress): Promise<Cloud> {
  const stream = new ByteStream(file, "points3D.bin", progress);
  const count = await announced(stream, "points", LEAST_POINT + 8);
  const cloud = new Cloud(true);
  for (let i = 0; i < count; i++) {
    if (!stream.has(LEAST_POINT + 8)) await stream.need(LEAST_POINT + 8);
    const [view, at] = stream.take(LEAST_POINT + 8);
    if (cloud.wantsNext) {
      cloud.add(
        view.getFloat64(at + 8, true), view.getFloat64(at + 16, true), view.getFloat64(at + 24, true),
        view.getUint8(at + 32), view.getUint8(at + 33), view.getUint8(at + 34),
      );
    } else {
      cloud.skip();
    }
    const [low, high] = [view.getUint32(at + 43, true), view.getUint32(at + 47, true)];
    stream.skip(8 * (low + 0x1_0000_0000 * high));
  }
  return cloud;
}

export async function readCamerasBinary(file: Blob): Promise<Lenses> {
  const stream = new ByteStream(file, "cameras.bin");
  const count = await announced(stream, "cameras", LEAST_CAMERA);
  const lenses: Lenses = new Map();
  for (let i = 0; i < count; i++) {
    await stream.need(24);
    const [view, at] = stream.take(24);
    const number = view.getInt32(at + 4, true);
    const model = MODELS[number];
    if (model === undefined) throw new Unreadable(`cameras.bin has a camera of model ${number}, which this page does not know; export the model as text.`);
    const [width, height] = [Number(view.getBigUint64(at + 8, true)), Number(view.getBigUint64(at + 16, true))];
    await stream.need(8 * model[1]);
    const [values, start] = stream.take(8 * model[1]);
    const params = Array.from({ length: model[1] }, (_, j) => values.getFloat64(start + 8 * j, true));
    lenses.set(view.getUint32(at, true), halfOf(model[0], width, height, params));
  }
  return lenses;
}

export async function readImagesBinary(file: Blob, progress: Progress): Promise<PosedImage[]> {
  const stream = new ByteStream(file, "images.bin", progress);
  const count = await announced(stream, "images", LEAST_IMAGE);
  const images: PosedImage[] = [];
  for (let i = 0; i < count; i++) {
    await stream.need(64);
    const [view, at] = stream.take(64);
    const number = (j: number): number => view.getFloat64(at + 4 + 8 * j, true);
    const quaternion = [number(0), number(1), number(2), number(3)] as const;
    const translation = [number(4), number(5), number(6)] as const;
    const camera = view.getUint32(at + 60, true);
    const letters: number[] = [];
    for (;;) {
      if (!stream.has(1)) await stream.need(1);
      const [bytes, place] = stream.take(1);
      const letter = bytes.getUint8(place);
      if (letter === 0) break;
      if (letters.push(letter) > LONGEST_NAME) throw new Unreadable("images.bin has a name without an end: it is damaged.");
    }
    const seen = await stream.count();
    stream.skip(24 * seen);
    images.push({ name: new TextDecoder().decode(Uint8Array.from(letters)), quaternion, translation, camera });
  }
  return images;
}
