/** Which kind of place a handful of files is, and its reading. Runs in a worker. */

import { readColmap } from "./colmap.ts";
import { readMapFolder } from "./map-folder.ts";
import type { Model } from "./model.ts";
import { readPly } from "./ply.ts";
import { Unreadable } from "./problem.ts";
import type { Progress } from "./stream.ts";

/** A file and where it lay: "model/sparse/0/images.bin". */
export interface FoundFile {
  readonly path: string;
  readonly file: Blob;
}

const COLMAP = /^(cameras|images|points3D)\.(bin|txt)$/;
/** Enough for any folder of a map; a person who drops a whole disk gets a sentence instead of a wait. */
export const MOST_FILES = 5000;

/** Whether a file belongs to a place at all; others are not read. */
export function isOfPlace(name: string): boolean {
  return name === "manifest.json" || /^(points|rotations|translations|camera_of_image)\.npy$/.test(name) || COLMAP.test(name) || /\.ply$/i.test(name);
}

export async function readPlace(files: readonly FoundFile[], progress: Progress): Promise<Model> {
  const folders = new Map<string, Map<string, Blob>>();
  for (const { path, file } of files) {
    const cut = path.lastIndexOf("/");
    const folder = path.slice(0, Math.max(0, cut));
    const name = path.slice(cut + 1);
    if (!isOfPlace(name)) continue;
    folders.set(folder, (folders.get(folder) ?? new Map<string, Blob>()).set(name, file));
  }
  // The folder nearest to the one that was chosen: a map's sidecars lie below it.
  const sorted = [...folders].sort(([one], [other]) => one.split("/").length - other.split("/").length || (one < other ? -1 : 1));
  const title = (folder: string): string => folder.split("/").at(-1) ?? "";
  const map = sorted.find(([, own]) => own.has("manifest.json"));
  if (map !== undefined) return readMapFolder(map[1], title(map[0]), progress);
  const models = sorted.filter(([, own]) => [...own.keys()].some((name) => name.startsWith("points3D.")));
  const [model] = models;
  if (model !== undefined) {
    const read = await readColmap(model[1], title(model[0]), progress);
    if (models.length === 1) return read;
    const others = `The folder has ${models.length} COLMAP models; ${model[0] === "" ? "the first" : model[0]} is shown. Open the folder of another one to see it.`;
    return { ...read, notes: [...read.notes, others] };
  }
  const clouds = sorted.flatMap(([, own]) => [...own].filter(([name]) => /\.ply$/i.test(name)));
  const [cloud] = clouds;
  if (cloud !== undefined) return readPly(cloud[1], cloud[0], progress);
  if (sorted.some(([, own]) => [...own.keys()].some((name) => COLMAP.test(name)))) {
    throw new Unreadable("This COLMAP model has no points3D file; export the whole model.");
  }
  throw new Unreadable(
    "Nothing here is a place: choose the folder of a map, a COLMAP model (cameras, images and points3D, .bin or .txt), or a .ply file.",
  );
}
