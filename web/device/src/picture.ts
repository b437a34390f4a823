/** Pictures as a browser gives them, turned upright and small enough, as pixels. */
import { guessCamera, scaleCamera, type Camera } from "./camera.ts";
import { checkCount, checkImageSize } from "./checks.ts";
import { InvalidInput, Missing, UnreadableImage } from "./errors.ts";
import type { Picture } from "./types.ts";

/** A file, a frame of a camera, or pixels. */
export type ImageSource = Blob | ImageBitmap | Picture;

/** Larger pictures are made smaller: each pixel takes about 100 bytes while keypoints are found. */
export const DEFAULT_MAX_PIXELS = 2_000_000;

/** Pixels, and the size that the upright picture had before it was made smaller. */
export interface Opened {
  readonly picture: Picture;
  readonly fullWidth: number;
  readonly fullHeight: number;
}

/**
 * Decode a picture and make it upright; what its file says about place and person is left behind.
 *
 * Runs in a page or a worker. Pixels that are small enough pass through as they are, also in Node.
 */
export async function openPicture(source: ImageSource, maxPixels: number = DEFAULT_MAX_PIXELS): Promise<Opened> {
  checkCount("maxPixels", maxPixels, 1);
  if ("data" in source) {
    checkImageSize(source.width, source.height);
    const [fullWidth, fullHeight] = [source.width, source.height];
    if (fullWidth * fullHeight <= maxPixels) return { picture: source, fullWidth, fullHeight };
  }
  if (typeof createImageBitmap !== "function" || typeof OffscreenCanvas !== "function") {
    throw new Missing(
      "this browser cannot decode pictures in the background (OffscreenCanvas); update it, or give pixels of at most " +
        `${maxPixels} pixels.`,
    );
  }
  const bitmap = await decode(source);
  try {
    const [fullWidth, fullHeight] = [bitmap.width, bitmap.height];
    const scale = Math.min(1, Math.sqrt(maxPixels / (fullWidth * fullHeight)));
    const [width, height] = [fullWidth, fullHeight].map((side) => Math.max(1, Math.floor(side * scale))) as [number, number];
    checkImageSize(width, height);
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (context === null) throw new Missing("this browser gives no canvas to read pixels from; close other tabs.");
    context.imageSmoothingQuality = "high";
    context.drawImage(bitmap, 0, 0, width, height);
    const { data } = context.getImageData(0, 0, width, height);
    return { picture: { width, height, data }, fullWidth, fullHeight };
  } finally {
    bitmap.close();
  }
}

async function decode(source: ImageSource): Promise<ImageBitmap> {
  if (typeof ImageBitmap === "function" && source instanceof ImageBitmap) return source;
  try {
    if (source instanceof Blob) {
      return await createImageBitmap(source, { imageOrientation: "from-image", colorSpaceConversion: "none" });
    }
    const { data, height, width } = source as Picture;
    if (data.length !== 4 * width * height) throw new InvalidInput("pixels that are to be made smaller must be RGBA.");
    return await createImageBitmap(new ImageData(new Uint8ClampedArray(data), width, height));
  } catch (error) {
    if (error instanceof InvalidInput) throw error;
    throw new UnreadableImage(
      "this browser cannot read the file as a picture: it may be damaged, too large, no picture at all, or HEIC, which " +
        "only Safari reads; give a JPEG, PNG or WebP.",
    );
  }
}

/** The camera for an opened picture. */
export interface ChosenCamera {
  readonly camera: Camera;
  /** True where nobody knew it and a usual field of view was taken instead. */
  readonly guessed: boolean;
}

/** The given camera at the size of the opened picture, or a guess from a field of view in degrees. */
export function cameraFor(opened: Opened, camera: Camera | undefined, fieldOfView: number | undefined): ChosenCamera {
  const { fullHeight, fullWidth, picture } = opened;
  if (camera === undefined) {
    return { camera: guessCamera(picture.width, picture.height, fieldOfView), guessed: fieldOfView === undefined };
  }
  if (fieldOfView !== undefined) throw new InvalidInput("give a camera or a field of view, not both.");
  const fits = (width: number, height: number): boolean => camera.width === width && camera.height === height;
  if (fits(picture.width, picture.height)) return { camera, guessed: false };
  if (fits(fullWidth, fullHeight)) return { camera: scaleCamera(camera, picture.width, picture.height), guessed: false };
  throw new InvalidInput(
    `the camera is ${camera.width}×${camera.height} but the upright picture is ${fullWidth}×${fullHeight}; give the ` +
      "intrinsics of this picture.",
  );
}
