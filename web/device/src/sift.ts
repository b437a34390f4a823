/** SIFT as the Python device extracts it: the same keypoints, in the same order, the same bytes. */
import { checkCount, checkImageSize } from "./checks.ts";
import { InvalidInput } from "./errors.ts";
import { Native } from "./native.ts";
import type { Extractor, Features, Picture, Progress } from "./types.ts";

/** Larger pictures are refused: each pixel takes 96 bytes while keypoints are found. */
export const MAX_SIFT_PIXELS = 30_000_000;

const DIMENSION = 128;
/** x, y, diameter, angle, response */
const VALUES = 5;
/** x, y, diameter, angle; inside, octave and layer besides. */
const FRAME = 4;
const PLACED = 6;
/** Of the first layer of the scale space, and layers of an octave. */
const SIGMA = 1.6;
const LAYERS = 3;
/** Keypoints described between two reports of progress. */
const BLOCK = 512;
/** Share of the work that finding keypoints is, for the progress. */
const FINDING = 0.6;
/** Memory that is kept for the next picture; more than this is given back. */
const KEPT_BYTES = 256e6;

/** What can be chosen. */
export interface SiftOptions {
  /** Keep only the strongest; the result is a prefix of the unlimited one. */
  readonly maxKeypoints?: number;
}

/**
 * OpenCV's SIFT with the settings of the Python device, for one picture at a time.
 *
 * Pictures are RGBA as a canvas gives them, laid on white where they are transparent, or gray with
 * one byte a pixel. Decode without a change of colours (`colorSpaceConversion: "none"`) and upright.
 */
export class Sift implements Extractor {
  readonly name = "sift";
  readonly #module: WebAssembly.Module;
  readonly #limit: number;
  #native: Native | null = null;

  constructor(module: WebAssembly.Module, options: SiftOptions = {}) {
    this.#module = module;
    this.#limit = checkCount("maxKeypoints", options.maxKeypoints ?? Number.MAX_SAFE_INTEGER, 1);
  }

  /** Keypoints and descriptors, strongest first; none where the picture is blank or tiny. */
  extract(picture: Picture, progress?: Progress): Features {
    const { width, height } = picture;
    checkPicture(picture);
    const native = (this.#native ??= new Native(this.#module));
    try {
      progress?.(0);
      const found = detect(native, picture);
      progress?.(FINDING);
      const count = Math.min(found, this.#limit);
      const values = native.floats(native.run.sift_keypoints(), VALUES * found).slice(0, VALUES * count);
      const descriptors = describe(native, count, progress);
      progress?.(1);
      const column = (place: number) => Float32Array.from({ length: count }, (_, i) => values[VALUES * i + place] ?? 0);
      return {
        keypoints: Float32Array.from({ length: 2 * count }, (_, i) => values[VALUES * (i >> 1) + (i & 1)] ?? 0),
        descriptors,
        dimension: DIMENSION,
        scores: column(4),
        scales: column(2),
        angles: column(3),
        width,
        height,
        extractor: this.name,
      };
    } finally {
      this.#giveBack(native);
    }
  }

  /**
   * Descriptors of a picture at any frames, four numbers each: x, y, diameter in pixels, angle in degrees.
   *
   * A frame is described on the blur that a keypoint of its diameter would be found on, as OpenCV
   * does; zeros where it lies outside of the picture, or is larger than the picture's scale space.
   */
  describe(picture: Picture, frames: Float32Array): Uint8Array {
    checkPicture(picture);
    if (frames.length % FRAME !== 0) throw new InvalidInput(`frames must have ${FRAME} numbers each, got ${frames.length} in all.`);
    const native = (this.#native ??= new Native(this.#module));
    try {
      detect(native, picture);
      return describeFrames(native, frames);
    } finally {
      this.#giveBack(native);
    }
  }

  /** Memory never shrinks: that of a large picture is given back, and made anew for the next one. */
  #giveBack(native: Native): void {
    if (native.size > KEPT_BYTES) this.#native = null;
  }
}

function checkPicture({ width, height, data }: Picture): void {
  checkImageSize(width, height);
  const pixels = width * height;
  if (pixels > MAX_SIFT_PIXELS) {
    throw new InvalidInput(
      `features are extracted from at most ${MAX_SIFT_PIXELS} pixels, got ${width}×${height}; make the picture smaller.`,
    );
  }
  if (data.length !== 4 * pixels && data.length !== pixels) {
    throw new InvalidInput(
      `a picture of ${width}×${height} must have ${4 * pixels} bytes of RGBA or ${pixels} of gray, got ${data.length}.`,
    );
  }
}

/** Find all keypoints: their number. */
function detect(native: Native, { width, height, data }: Picture): number {
  const address = native.run.sift_open(width, height);
  if (address !== 0) {
    native.bytes(address, data.length).set(data);
    const found = native.run.sift_detect(data.length === width * height ? 1 : 0);
    if (found >= 0) return found;
  }
  throw new InvalidInput(
    `the browser gives no memory for a picture of ${width}×${height}, which needs about ` +
      `${Math.ceil((96 * width * height) / 1e6)} MB; make the picture smaller.`,
  );
}

/** Describe the first `count` keypoints, a block at a time. */
function describe(native: Native, count: number, progress?: Progress): Uint8Array {
  const descriptors = new Uint8Array(count * DIMENSION);
  const rows = native.run.sift_rows(Math.min(count, BLOCK));
  for (let low = 0; low < count; low += BLOCK) {
    const size = Math.min(BLOCK, count - low);
    const numbers = native.numbers(rows, size);
    for (let i = 0; i < size; i++) numbers[i] = low + i;
    descriptors.set(native.bytes(native.run.sift_describe(rows, size), size * DIMENSION), low * DIMENSION);
    progress?.(FINDING + ((1 - FINDING) * (low + size)) / count);
  }
  return descriptors;
}

/** Describe frames, a block at a time. */
function describeFrames(native: Native, frames: Float32Array): Uint8Array {
  const count = frames.length / FRAME;
  const descriptors = new Uint8Array(count * DIMENSION);
  const place = native.run.sift_frames(Math.min(count, BLOCK));
  for (let low = 0; low < count; low += BLOCK) {
    const size = Math.min(BLOCK, count - low);
    const values = native.floats(place, PLACED * size);
    for (let i = 0; i < size; i++) {
      const [x = NaN, y = NaN, diameter = NaN, angle = NaN] = frames.subarray(FRAME * (low + i), FRAME * (low + i + 1));
      const scale = Math.log2(diameter / SIGMA);
      const octave = Math.floor(scale - 0.5 / LAYERS + 1e-6);
      const layer = Math.min(LAYERS, Math.max(1, Math.round((scale - octave) * LAYERS)));
      values.set([x, y, diameter, angle, octave, layer], PLACED * i);
    }
    descriptors.set(native.bytes(native.run.sift_describe_frames(place, size), size * DIMENSION), low * DIMENSION);
  }
  return descriptors;
}
