/** Intrinsics in COLMAP's models; the principal point counts from the corner of the first pixel. */
import { at, checkImageSize, checkNumber } from "./checks.ts";
import { InvalidInput } from "./errors.ts";

/** The models of the wire format in the order of their numbers, which begin at 1. */
export const CAMERA_MODELS = [
  ["SIMPLE_PINHOLE", 3],
  ["PINHOLE", 4],
  ["SIMPLE_RADIAL", 4],
  ["RADIAL", 5],
  ["OPENCV", 8],
  ["OPENCV_FISHEYE", 8],
  ["FULL_OPENCV", 12],
] as const;

/** The name of a camera model. */
export type CameraModel = (typeof CAMERA_MODELS)[number][0];

/** A camera: its model, the picture's size in pixels, and the parameters in COLMAP's order. */
export interface Camera {
  readonly model: CameraModel;
  readonly width: number;
  readonly height: number;
  readonly params: readonly number[];
}

/** Number of a model in the wire format and how many parameters it has. */
export function findModel(name: string): { number: number; params: number } {
  const index = CAMERA_MODELS.findIndex(([known]) => known === name);
  if (index < 0) {
    const known = CAMERA_MODELS.map(([model]) => model).join(", ");
    throw new InvalidInput(`camera model must be one of ${known}, got ${name}.`);
  }
  return { number: index + 1, params: at(CAMERA_MODELS, index)[1] };
}

/** How many of the parameters are focal lengths; the principal point follows, then the lens. */
function numFocals(camera: Camera): number {
  return ["SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL"].includes(camera.model) ? 1 : 2;
}

/** Refuse what is no camera at all. */
export function checkCamera(camera: Camera): void {
  const { params } = findModel(camera.model);
  checkImageSize(camera.width, camera.height);
  if (camera.params.length !== params) {
    throw new InvalidInput(`${camera.model} has ${params} parameters, got ${camera.params.length}.`);
  }
  for (const value of camera.params) {
    if (!Number.isFinite(checkNumber("camera parameter", value))) {
      throw new InvalidInput("camera parameters must be finite.");
    }
  }
  const shortest = Math.min(...camera.params.slice(0, numFocals(camera)));
  if (shortest <= 0) throw new InvalidInput(`focal length must be positive, got ${shortest}.`);
}

/** Refuse intrinsics that no real camera has; a pose computed with them would only look right. */
export function checkPossible(camera: Camera): void {
  checkCamera(camera);
  const focals = numFocals(camera);
  const [fx, fy] = [at(camera.params, 0), at(camera.params, focals - 1)];
  const [x, y] = [at(camera.params, focals), at(camera.params, focals + 1)];
  const longest = Math.max(camera.width, camera.height);
  if (!(Math.min(fx, fy) >= 0.1 * longest && Math.max(fx, fy) <= 50 * longest)) {
    throw new InvalidInput(
      `the focal length of the camera must be 0.1 to 50 times the longer side of the picture, ${longest} pixels, ` +
        `got ${Math.min(fx, fy)}; check that it is in pixels of this picture.`,
    );
  }
  if (Math.max(fx, fy) > 2 * Math.min(fx, fy)) {
    throw new InvalidInput(
      `the two focal lengths of the camera must be alike, got ${fx} and ${fy}; check the order of the parameters.`,
    );
  }
  if (!(x >= 0 && x <= camera.width && y >= 0 && y <= camera.height)) {
    throw new InvalidInput(
      `the principal point of the camera must lie in the picture of ${camera.width}×${camera.height} pixels; ` +
        "check the order of the parameters and the picture's size.",
    );
  }
  if (camera.params.slice(focals + 2).some((value) => Math.abs(value) > 1000)) {
    throw new InvalidInput("the distortion of the camera must be below 1000; check the order of the parameters.");
  }
}

/** The same camera for the same picture at another size. */
export function scaleCamera(camera: Camera, width: number, height: number): Camera {
  checkImageSize(width, height);
  const [sx, sy] = [width / camera.width, height / camera.height];
  const focals = numFocals(camera);
  const params = camera.params.map((value, place) => {
    if (place < focals) return focals === 1 ? value * Math.sqrt(sx * sy) : value * (place === 0 ? sx : sy);
    return place === focals ? value * sx : place === focals + 1 ? value * sy : value;
  });
  return { model: camera.model, width, height, params };
}

/** Wide enough for most phones: their main cameras see 65 to 75 degrees along the longer side. */
export const USUAL_FIELD_OF_VIEW = 70;

/**
 * A guess, not a calibration: a camera without distortion whose longer side sees so many degrees.
 *
 * A browser does not tell the focal length of its camera. A server may find a better one, and then
 * says so in its answer (`camera`); where it cannot, the pose is off as the guess is.
 */
export function guessCamera(width: number, height: number, degrees: number = USUAL_FIELD_OF_VIEW): Camera {
  checkImageSize(width, height);
  if (!(checkNumber("field of view", degrees) >= 2 && degrees <= 150)) {
    throw new InvalidInput(`the field of view must be between 2 and 150 degrees, got ${degrees}.`);
  }
  const focal = Math.max(width, height) / 2 / Math.tan((degrees * Math.PI) / 360);
  return { model: "SIMPLE_PINHOLE", width, height, params: [focal, width / 2, height / 2] };
}
