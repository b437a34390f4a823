/**
 * Every kind of release: what leaves the device, and nothing else. No original, no seed, no file
 * name. Arrays are flat, row by row.
 */
import type { Camera } from "../camera.ts";
import type { FloatType } from "./numbers.ts";

/** What all kinds with one row per keypoint have. */
export interface KeypointFields {
  /** Made with a known seed: whoever knows it can undo the noise. Never send such a release. */
  readonly reproducible: boolean;
  /** x, y of every keypoint in pixels, on the grid of the wire format. */
  readonly keypoints: Float32Array;
  readonly width: number;
  readonly height: number;
  readonly extractor: string;
  readonly camera: Camera | null;
}

/** No guarantee: the raw descriptors. */
export interface PlainRelease extends KeypointFields {
  readonly kind: "plain";
  readonly dimension: number;
  /** N·dimension values: bytes, or float32. */
  readonly descriptors: Uint8Array | Float32Array;
}

/** Each keypoint carries ω words of a public dictionary; the true one is likely among them. */
export interface WordRelease extends KeypointFields {
  readonly kind: "words";
  /** |K|, the size of the dictionary. */
  readonly numWords: number;
  /** ω, words per keypoint. */
  readonly subsetSize: number;
  /** The guarantee per descriptor; ∞ means quantised, not private. */
  readonly epsilon: number;
  /** Fingerprint: 64 hexadecimal digits. */
  readonly dictionary: string;
  /** N·ω indices, each row strictly increasing. */
  readonly words: Uint32Array;
}

/** The naive baseline: ω whole descriptors per keypoint. */
export interface CandidateRelease extends KeypointFields {
  readonly kind: "candidates";
  readonly subsetSize: number;
  readonly dimension: number;
  readonly epsilon: number;
  /** N·ω·dimension bytes; the descriptors of a row strictly increase byte by byte. */
  readonly candidates: Uint8Array;
}

/** Each keypoint carries an affine subspace through its descriptor. No guarantee exists. */
export interface SubspaceRelease extends KeypointFields {
  readonly kind: "subspaces";
  readonly type: FloatType;
  readonly ambient: number;
  readonly dimension: number;
  /** N·ambient numbers, a point of each subspace. */
  readonly offsets: Float32Array;
  /** N·dimension·ambient numbers, orthonormal rows. */
  readonly bases: Float32Array;
}

/** Randomized codes of one picture, for classification. The label is not protected. */
export interface CodeRelease {
  readonly kind: "codes";
  readonly reproducible: boolean;
  readonly encoder: string;
  /** The guarantee per code; k codes compose to k·ε. */
  readonly epsilon: number;
  readonly numValues: number;
  readonly numPositions: number;
  readonly label: number | null;
  readonly positions: Uint32Array;
  readonly codes: Uint32Array;
}

/** A release with one row per keypoint. */
export type KeypointRelease = PlainRelease | WordRelease | CandidateRelease | SubspaceRelease;

/** Everything that may leave a device. */
export type Release = KeypointRelease | CodeRelease;
