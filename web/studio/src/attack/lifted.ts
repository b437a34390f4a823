/** What the vertex attack got back from lifted descriptors of an example: written by make_examples.py. */

import { decode, Missing } from "@sfumato/device";
import type { Example } from "../examples.ts";
import type { Shell } from "../shell.ts";

export interface Lifted {
  readonly keypoints: Float32Array;
  readonly descriptors: Uint8Array;
  readonly dimension: number;
  /** Of the lifted release. */
  readonly bytes: number;
  /** Share of descriptors that were got back exactly. */
  readonly recovered: number;
}

export async function readLifted({ name }: Example, shell: Shell, signal: AbortSignal): Promise<Lifted> {
  const [file, told] = [await shell.fetchAsset(`examples/${name}-lifted.sfr`, { signal }), await shell.fetchAsset("examples/lifted.json", { signal })];
  const release = decode(file);
  const facts = (JSON.parse(new TextDecoder().decode(told)) as Record<string, Omit<Lifted, "keypoints" | "descriptors"> | undefined>)[name];
  if (release.kind !== "plain" || !(release.descriptors instanceof Uint8Array) || facts === undefined) {
    throw new Missing("the example's lifted features are damaged; build the page again.");
  }
  return { ...facts, keypoints: release.keypoints, descriptors: release.descriptors };
}
