/** A release in its one form: every field checked, positions on the grid, rows in the one order. */
import { checkCamera } from "../camera.ts";
import {
  at,
  checkCount,
  checkEpsilon,
  checkExtractorName,
  checkFingerprint,
  checkFinite,
  checkImageSize,
  checkIncreasing,
  checkIndices,
} from "../checks.ts";
import { InvalidInput } from "../errors.ts";
import { floatsToBytes } from "./numbers.ts";
import { canonicalOrder, snap, takeRows, unsnap } from "./positions.ts";
import type { CandidateRelease, CodeRelease, KeypointRelease, Release, SubspaceRelease } from "./releases.ts";

export const MAX_WORDS = 1 << 24;
export const MAX_DIMENSION = 1 << 14;

/** The same release, checked and in canonical form; what cannot be sent is refused. */
export function canonical<R extends Release>(release: R): R {
  if (release.kind === "codes") {
    checkCodes(release);
    return release;
  }
  checkKeypoints(release);
  checkRows(release);
  const steps = snap(release.keypoints, release.width, release.height);
  const order = canonicalOrder(steps, contents(release));
  return {
    ...release,
    ...ordered(release, order),
    keypoints: unsnap(takeRows(steps, order, 2), release.width, release.height),
  };
}

function checkKeypoints(release: KeypointRelease): void {
  const { keypoints, width, height, camera } = release;
  checkImageSize(width, height);
  checkExtractorName(release.extractor);
  if (camera !== null) {
    checkCamera(camera);
    if (camera.width !== width || camera.height !== height) {
      throw new InvalidInput(
        `the camera is ${camera.width}×${camera.height} but the picture is ${width}×${height}; ` +
          "scale the intrinsics with it.",
      );
    }
  }
  checkFinite("keypoints", keypoints);
  if (keypoints.length % 2 !== 0) throw new InvalidInput("keypoints must be pairs of x and y.");
  let outside = 0;
  for (let i = 0; i < keypoints.length; i += 2) {
    const [x, y] = [at(keypoints, i), at(keypoints, i + 1)];
    if (!(x >= -1 && y >= -1 && x <= width && y <= height)) outside++;
  }
  if (outside > 0) {
    throw new InvalidInput(
      `keypoints must lie inside the ${width}×${height} picture, ${outside} of ${keypoints.length / 2} do not; ` +
        "give the size of the picture they were found in.",
    );
  }
}

function checkRows(release: KeypointRelease): void {
  const rows = release.keypoints.length / 2;
  switch (release.kind) {
    case "plain": {
      checkCount("descriptor dimension", release.dimension, 1, MAX_DIMENSION);
      checkLength("descriptors", release.descriptors, rows * release.dimension);
      if (release.descriptors instanceof Float32Array) checkFinite("descriptors", release.descriptors);
      return;
    }
    case "words": {
      checkEpsilon(release.epsilon, true);
      checkCount("numWords", release.numWords, 2, MAX_WORDS);
      checkFingerprint(release.dictionary);
      checkCount("subsetSize", release.subsetSize, 1, release.numWords - 1);
      checkLength("words", release.words, rows * release.subsetSize);
      checkIndices("words", release.words, release.numWords);
      checkIncreasing("words", release.words, release.subsetSize);
      return;
    }
    case "candidates":
      checkCandidates(release, rows);
      return;
    case "subspaces":
      checkSubspaces(release, rows);
  }
}

function checkCandidates(release: CandidateRelease, rows: number): void {
  const { candidates, dimension, subsetSize } = release;
  checkEpsilon(release.epsilon);
  checkCount("subsetSize", subsetSize, 1, MAX_DIMENSION);
  checkCount("descriptor dimension", dimension, 1, MAX_DIMENSION);
  checkLength("candidates", candidates, rows * subsetSize * dimension);
  for (let i = 1; i < rows * subsetSize; i++) {
    if (i % subsetSize === 0) continue;
    let order = 0;
    for (let j = 0; j < dimension && order === 0; j++) {
      order = at(candidates, i * dimension + j) - at(candidates, (i - 1) * dimension + j);
    }
    if (order <= 0) throw new InvalidInput("every row of candidates must be strictly increasing.");
  }
}

function checkSubspaces(release: SubspaceRelease, rows: number): void {
  const { ambient, bases, dimension, offsets } = release;
  checkCount("ambient dimension", ambient, 2, MAX_DIMENSION);
  checkCount("subspace dimension", dimension, 1, ambient - 1);
  checkLength("offsets", offsets, rows * ambient);
  checkLength("bases", bases, rows * dimension * ambient);
  checkFinite("offsets", offsets);
  checkFinite("bases", bases);
  const allowed = release.type === "float16" ? 0.02 : 1e-3;
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < dimension; i++) {
      for (let j = 0; j <= i; j++) {
        const [a, b] = [(row * dimension + i) * ambient, (row * dimension + j) * ambient];
        let product = i === j ? -1 : 0;
        for (let k = 0; k < ambient; k++) product += at(bases, a + k) * at(bases, b + k);
        if (!(Math.abs(product) < allowed)) throw new InvalidInput("every basis must have orthonormal rows.");
      }
    }
  }
}

function checkCodes(release: CodeRelease): void {
  checkEpsilon(release.epsilon, true);
  checkExtractorName(release.encoder);
  checkCount("numValues", release.numValues, 2, MAX_WORDS);
  checkCount("numPositions", release.numPositions, 1, MAX_WORDS);
  if (release.label !== null) checkCount("label", release.label, 0, 2 ** 31 - 1);
  checkIndices("codes", release.codes, release.numValues);
  checkIndices("positions", release.positions, release.numPositions);
  checkLength("codes", release.codes, release.positions.length);
  checkIncreasing("positions", release.positions, Infinity);
}

function checkLength(name: string, values: { readonly length: number }, length: number): void {
  if (values.length !== length) throw new InvalidInput(`${name} must have ${length} values, got ${values.length}.`);
}

/** What orders rows at one position: their bytes, block by block. */
function contents(release: KeypointRelease): Uint8Array[] {
  switch (release.kind) {
    case "plain":
      return [plainBytes(release.descriptors)];
    case "words": {
      const bytes = new DataView(new ArrayBuffer(4 * release.words.length));
      release.words.forEach((word, i) => {
        bytes.setUint32(4 * i, word, true);
      });
      return [new Uint8Array(bytes.buffer)];
    }
    case "candidates":
      return [release.candidates];
    case "subspaces":
      return [floatsToBytes(release.offsets, release.type), floatsToBytes(release.bases, release.type)];
  }
}

/** Descriptors as they stand in a payload. */
export function plainBytes(descriptors: Uint8Array | Float32Array): Uint8Array {
  return descriptors instanceof Float32Array ? floatsToBytes(descriptors, "float32") : descriptors;
}

function ordered(release: KeypointRelease, order: Uint32Array): Partial<KeypointRelease> {
  switch (release.kind) {
    case "plain":
      return { descriptors: takeRows(release.descriptors, order, release.dimension) };
    case "words":
      return { words: takeRows(release.words, order, release.subsetSize) };
    case "candidates":
      return { candidates: takeRows(release.candidates, order, release.subsetSize * release.dimension) };
    case "subspaces":
      return {
        offsets: takeRows(release.offsets, order, release.ambient),
        bases: takeRows(release.bases, order, release.dimension * release.ambient),
      };
  }
}
