/** What passes between the parts of the device. Arrays are flat, row by row. */

/** What an extractor finds in one picture, strongest first. */
export interface Features {
  /** x, y of N keypoints in pixels; the centre of a pixel is a whole number. Length 2·N. */
  readonly keypoints: Float32Array;
  /** N rows of `dimension` values. SIFT: 128 whole numbers from 0 to 255. */
  readonly descriptors: Uint8Array;
  readonly dimension: number;
  /** The detector's response. Length N, as `scales` and `angles`. */
  readonly scores: Float32Array;
  /** Diameter in pixels. */
  readonly scales: Float32Array;
  /** Degrees from 0 to 360. */
  readonly angles: Float32Array;
  readonly width: number;
  readonly height: number;
  /** The name that travels in the release: "sift". */
  readonly extractor: string;
}

/** Pixels of one upright picture. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  /** RGBA, four bytes a pixel: what a canvas gives. */
  readonly data: Uint8ClampedArray | Uint8Array;
}

/** Says how far long work has come: from 0 to 1. */
export type Progress = (done: number) => void;

/** Finds and describes the keypoints of a picture. */
export interface Extractor {
  readonly name: string;
  extract(picture: Picture, progress?: Progress): Features;
}

/** The nearest word of each descriptor; of equally near words the first. */
export interface NearestWords {
  readonly numWords: number;
  nearest(descriptors: Uint8Array, progress?: Progress): Uint32Array;
}
