/** What the page and the worker that protects say to each other. */

import type { Box, Cost, ErrorMessage, Features, Picture, WordRelease } from "@sfumato/device";

/** What a person may choose about a release. */
export interface Choice {
  /** Per keypoint. */
  readonly epsilon: number;
  /** |K|; null: as ε has it. */
  readonly numWords: number | null;
  readonly maxKeypoints: number;
  readonly spread: boolean;
  /** Keypoints in any square of 80 pixels; null: any number. */
  readonly density: number | null;
  readonly boxes: readonly Box[];
}

export interface ProtectAsk {
  readonly choice: Choice;
  /** Millimetres on 35 mm film. */
  readonly lens: number;
  /** Charged to the ledger, for bytes that may leave; a rehearsal is not, and never leaves. */
  readonly counted: boolean;
}

/** A release, and what of it only the device knows. */
export interface Made {
  readonly data: Uint8Array<ArrayBuffer>;
  readonly release: WordRelease;
  readonly cost: Cost;
  /** What was sent of the features, in their own order. */
  readonly kept: Features;
  /** 128 bytes for each word of the release: what the public dictionary says it looks like. */
  readonly looks: Uint8Array;
  /** How many of the words sent are the true ones: known here, and to nobody else. */
  readonly right: number;
  readonly milliseconds: number;
}

export type Ask =
  | { readonly extract: Picture }
  | { readonly words: Uint8Array; readonly pin: string }
  | { readonly protect: ProtectAsk };

export type Answer =
  | { readonly features: Features }
  | { readonly sizes: readonly number[] }
  | { readonly made: Made | null };

export type FromWorker =
  | { readonly id: number; readonly progress: number }
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly error: ErrorMessage };

export interface ToWorker {
  readonly id: number;
  readonly ask: Ask;
}
