/** A `Map` that sfumato stored as a folder: its points and its own cameras. Descriptors are not read. */

import { Cloud } from "./cloud.ts";
import { readManifest, sha256 } from "./manifest.ts";
import { halfOf, MOST_CAMERAS, upOf, type Model, type ShownCamera } from "./model.ts";
import { readNpy, type NumberArray } from "./npy.ts";
import { many, Unreadable } from "./problem.ts";
import type { Progress } from "./stream.ts";
import { centerOf, isFiniteVector, isRotation, minus, unit, type Matrix, type Vector } from "./vectors.ts";

/** The format that this page reads, as `sfumato` of the same version writes it. */
const FORMAT = 1;
/** A longer array is not checked in one piece. */
const LARGEST = 1 << 30;

/** The files of the folder itself, by name. */
export type Files = ReadonlyMap<string, Blob>;

export async function readMapFolder(files: Files, name: string, progress: Progress): Promise<Model> {
  const manifest = files.get("manifest.json");
  if (manifest === undefined) throw new Unreadable("This folder has no manifest.json; choose the folder of a map itself.");
  const told = await readManifest(new Uint8Array(await manifest.arrayBuffer()));
  checkKind(told);
  const checksums = told["files"] as Record<string, unknown> | undefined;
  const array = async (title: string, shape: readonly (number | null)[], done: number): Promise<NumberArray> => {
    const found = await checked(files, `${title}.npy`, checksums);
    progress(done);
    const fits = found.shape.length === shape.length && shape.every((size, i) => size === null || size === found.shape[i]);
    if (!fits) throw new Unreadable(`${title}.npy has the shape ${found.shape.join(" × ")}, which no map has. Copy the map again.`);
    return found;
  };
  const points = await array("points", [null, 3], 0.6);
  const rotations = await array("rotations", [null, 3, 3], 0.7);
  const images = rotations.shape[0] ?? 0;
  const translations = await array("translations", [images, 3], 0.8);
  const cameraOf = await array("camera_of_image", [images], 0.9);
  const count = points.shape[0] ?? 0;
  const cloud = new Cloud(false);
  for (let i = 0; i < count; i++) cloud.add(points.values[3 * i] ?? NaN, points.values[3 * i + 1] ?? NaN, points.values[3 * i + 2] ?? NaN);
  const kept = cloud.finish("this map");
  const { cameras, notes } = camerasOf(told, rotations.values, translations.values, cameraOf.values, images, kept.origin);
  progress(1);
  return {
    kind: "map", name, cameras, total: count, up: knownUp(told["facts"]) ?? upOf(cameras),
    ...kept, notes: [...kept.notes, ...notes],
  };
}

function checkKind(told: Record<string, unknown>): void {
  const kind = String(told["kind"]).slice(0, 40);
  if (kind === "map in shards") {
    throw new Unreadable("This is a map in shards; open the folder of one of its shards, each is a map of its own.");
  }
  if (kind !== "map") throw new Unreadable(`This folder holds a “${kind}”, a “map” is needed.`);
  if (told["format"] !== FORMAT) {
    const format = JSON.stringify(told["format"] ?? null).slice(0, 20);
    throw new Unreadable(`This map has format ${format}, this page reads format ${FORMAT}; update the older side.`);
  }
}

async function checked(files: Files, name: string, checksums: Record<string, unknown> | undefined): Promise<NumberArray> {
  const file = files.get(name);
  const expected = checksums?.[name];
  if (file === undefined || typeof expected !== "string") {
    throw new Unreadable(`The map is incomplete: ${name} is missing. Choose its whole folder, or copy it again.`);
  }
  if (file.size > LARGEST) {
    throw new Unreadable(`${name} has ${many(file.size)} bytes; this page checks files of up to 1 GiB. Open a shard of the map instead.`);
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  if ((await sha256(bytes)) !== expected) {
    throw new Unreadable(`${name} is damaged: its checksum is not the one in the manifest. Copy the map again.`);
  }
  return readNpy(name, bytes);
}

function camerasOf(
  told: Record<string, unknown>, rotations: ArrayLike<number>, translations: ArrayLike<number>, cameraOf: ArrayLike<number>,
  images: number, origin: Vector,
): { cameras: ShownCamera[]; notes: string[] } {
  const names = Array.isArray(told["image_names"]) ? (told["image_names"] as unknown[]) : [];
  const lenses = (Array.isArray(told["cameras"]) ? (told["cameras"] as unknown[]) : []).map(lensOf);
  const cameras: ShownCamera[] = [];
  let odd = 0;
  for (let i = 0; i < Math.min(images, MOST_CAMERAS); i++) {
    const row = (j: number): Vector => [rotations[9 * i + 3 * j] ?? NaN, rotations[9 * i + 3 * j + 1] ?? NaN, rotations[9 * i + 3 * j + 2] ?? NaN];
    const rotation: Matrix = [row(0), row(1), row(2)];
    const translation: Vector = [translations[3 * i] ?? NaN, translations[3 * i + 1] ?? NaN, translations[3 * i + 2] ?? NaN];
    const half = lenses[cameraOf[i] ?? -1] ?? null;
    if (half === null || !isRotation(rotation) || !isFiniteVector(translation)) {
      odd++;
      continue;
    }
    const given = names[i];
    const center = minus(centerOf(rotation, translation), origin);
    cameras.push({ name: typeof given === "string" ? given : `image ${i + 1}`, center, rotation, half });
  }
  const notes = odd === 0 ? [] : [`${many(odd)} cameras are not shown: their poses or lenses are impossible.`];
  if (images > MOST_CAMERAS) notes.push(`The first ${many(MOST_CAMERAS)} of ${many(images)} cameras are shown.`);
  return { cameras, notes };
}

function lensOf(entry: unknown): readonly [number, number] | null {
  if (!Array.isArray(entry)) return null;
  const [model, width, height, params] = entry as unknown[];
  if (typeof model !== "string" || typeof width !== "number" || typeof height !== "number" || !Array.isArray(params)) return null;
  return halfOf(model, width, height, params.map(Number));
}

function knownUp(facts: unknown): Vector | null {
  const up: unknown = typeof facts === "object" && facts !== null ? (facts as Record<string, unknown>)["up"] : null;
  if (!Array.isArray(up) || up.length !== 3) return null;
  const vector = up.map(Number) as unknown as Vector;
  return isFiniteVector(vector) ? unit(vector) : null;
}
