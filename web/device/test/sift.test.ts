import { beforeAll, describe, expect, test } from "vitest";
import { at } from "../src/checks.ts";
import { InvalidInput } from "../src/errors.ts";
import { loadNative } from "../src/native.ts";
import { MAX_SIFT_PIXELS, Sift } from "../src/sift.ts";
import type { Features, Picture } from "../src/types.ts";
import { goldenNames } from "./golden.ts";
import { goldenSift } from "./golden-sift.ts";

let native: WebAssembly.Module;
beforeAll(async () => {
  native = await loadNative();
});

/** A gray picture from a rule. */
function drawn(width: number, height: number, gray: (x: number, y: number) => number): Picture {
  const data = Uint8Array.from({ length: width * height }, (_, i) => gray(i % width, Math.floor(i / width)));
  return { width, height, data };
}

/** Bright round spots, one every 24 pixels, each a little brighter than the one before. */
function spots(width: number, height: number): Picture {
  return drawn(width, height, (x, y) => {
    const [dx, dy] = [(x % 24) - 12, (y % 24) - 12];
    return 40 + (100 + x / 4 + y / 8) * Math.exp(-(dx * dx + 1.3 * dy * dy) / 18);
  });
}

/** Row of `features` that is this keypoint within half a pixel, at its scale and angle, or −1. */
function rowOf(features: Features, [x, y, diameter, angle]: readonly number[]): number {
  return features.scores.findIndex((_, i) => {
    const apart = Math.hypot(at(features.keypoints, 2 * i) - (x ?? 0), at(features.keypoints, 2 * i + 1) - (y ?? 0));
    const turned = Math.abs(((at(features.angles, i) - (angle ?? 0) + 540) % 360) - 180);
    return apart < 0.5 && turned < 5 && Math.abs(Math.log2(at(features.scales, i) / (diameter ?? 1))) < 0.1;
  });
}

describe("SIFT", () => {
  test("describes a keypoint's own frame as it described the keypoint", () => {
    const picture = spots(160, 120);
    const features = new Sift(native).extract(picture);
    const frames = Float32Array.from({ length: 4 * features.scores.length }, (_, i) => {
      const row = i >> 2;
      return [at(features.keypoints, 2 * row), at(features.keypoints, 2 * row + 1), at(features.scales, row), at(features.angles, row)][i & 3] ?? 0;
    });
    const again = new Sift(native).describe(picture, frames);
    const same = features.scores.filter((_, row) => again.subarray(128 * row, 128 * (row + 1)).every((value, i) => value === at(features.descriptors, 128 * row + i)));
    expect(features.scores.length).toBeGreaterThan(10);
    expect(same.length / features.scores.length).toBeGreaterThan(0.95); // a diameter between two layers may fall to either
  });

  test("describes nothing at a frame that is not there, and refuses half a frame", () => {
    const sift = new Sift(native);
    const odd = [[-1, 5, 4, 0], [5, 400, 4, 0], [NaN, 5, 4, 0], [5, 5, NaN, 0], [5, 5, 0, 0], [5, 5, Infinity, 0], [5, 5, 1e4, 0], [5, 5, 0.5, 0], [5, 5, 4, -90], [5, 5, 4, NaN]];
    expect(sift.describe(spots(64, 48), Float32Array.from(odd.flat())).every((value) => value === 0)).toBe(true);
    expect(sift.describe(spots(64, 48), new Float32Array(0))).toHaveLength(0);
    expect(() => sift.describe(spots(64, 48), new Float32Array(3))).toThrow(InvalidInput);
  });

  test.each(goldenNames("sift", ".bin"))("finds and describes what OpenCV does: %s", (name) => {
    const golden = goldenSift(name);
    const features = new Sift(native).extract(golden.picture);
    expect(Math.abs(features.scores.length - golden.count)).toBeLessThanOrEqual(1);
    let [found, same] = [0, 0];
    for (let k = 0; k < golden.count; k++) {
      const row = rowOf(features, Array.from(golden.keypoints.subarray(5 * k, 5 * k + 4)));
      if (row < 0) continue;
      found++;
      const own = features.descriptors.subarray(128 * row, 128 * (row + 1));
      const squared = own.reduce((sum, value, i) => sum + (value - at(golden.descriptors, 128 * k + i)) ** 2, 0);
      if (squared <= 9) same++; // of vectors of length 512
    }
    expect(found / golden.count).toBeGreaterThan(0.98);
    expect(same / golden.count).toBeGreaterThan(0.98);
  });

  test("several pixels may lead to one peak: no keypoint comes twice", () => {
    const { angles, keypoints, scales } = new Sift(native).extract(goldenSift("gray").picture);
    const names = Array.from(angles, (angle, i) => [...keypoints.slice(2 * i, 2 * i + 2), at(scales, i), angle].join());
    expect(new Set(names).size).toBe(names.length);
  });

  test("the strongest come first, and a limit gives a prefix", () => {
    const { picture } = goldenSift("opaque");
    const all = new Sift(native).extract(picture);
    const few = new Sift(native, { maxKeypoints: 10 }).extract(picture);
    expect(Array.from(all.scores)).toEqual(Array.from(all.scores).sort((a, b) => b - a));
    expect(few.scores).toEqual(all.scores.slice(0, 10));
    expect(few.keypoints).toEqual(all.keypoints.slice(0, 20));
    expect(few.descriptors).toEqual(all.descriptors.slice(0, 1280));
  });

  test("one extractor gives the same features for a picture whatever came before", () => {
    const sift = new Sift(native);
    const first = sift.extract(goldenSift("gray").picture);
    sift.extract(goldenSift("opaque").picture);
    sift.extract(spots(300, 200));
    expect(sift.extract(goldenSift("gray").picture)).toEqual(first);
  });

  test("a spot is found at its middle, in pixels whose centres are whole numbers", () => {
    const { keypoints, scores } = new Sift(native).extract(spots(96, 96));
    expect(scores.length).toBeGreaterThan(0);
    const nearest = Math.min(...scores.map((_, i) => Math.hypot(at(keypoints, 2 * i) - 36, at(keypoints, 2 * i + 1) - 60)));
    expect(nearest).toBeLessThan(0.2);
  });

  test("gray pixels and the same in RGBA give the same features", () => {
    const { picture } = goldenSift("gray");
    const data = new Uint8ClampedArray(4 * picture.data.length);
    picture.data.forEach((value, i) => { data.set([value, value, value, 255], 4 * i); });
    const sift = new Sift(native);
    expect(sift.extract({ ...picture, data })).toEqual(sift.extract(picture));
  });

  test("says how far it has come, up to all of it", () => {
    const told: number[] = [];
    new Sift(native).extract(goldenSift("opaque").picture, (done) => told.push(done));
    expect(told).toEqual([...told].sort((a, b) => a - b));
    expect(told.at(-1)).toBe(1);
  });

  test.each([
    [1, 1],
    [2, 300],
    [300, 2],
    [5, 5],
    [6, 400],
    [64, 64],
  ])("a blank picture of %i×%i has no keypoints", (width, height) => {
    for (const gray of [0, 255]) {
      const features = new Sift(native).extract(drawn(width, height, () => gray));
      expect([features.scores.length, features.keypoints.length, features.descriptors.length]).toEqual([0, 0, 0]);
    }
  });

  test("every value is a number, also at the border and for noise and odd sizes", () => {
    let state = 1;
    const noise = () => (state = (state * 48271) % 2147483647) % 256;
    const sift = new Sift(native);
    for (const [width, height] of [[13, 11], [64, 6], [37, 91], [255, 129]] as const) {
      const features = sift.extract(drawn(width, height, noise));
      const values = [...features.keypoints, ...features.scores, ...features.scales, ...features.angles];
      expect(values.every(Number.isFinite)).toBe(true);
      for (let i = 0; i < features.scores.length; i++) {
        expect(at(features.keypoints, 2 * i)).toBeGreaterThanOrEqual(0);
        expect(at(features.keypoints, 2 * i)).toBeLessThan(width);
        expect(at(features.keypoints, 2 * i + 1)).toBeLessThan(height);
      }
    }
  });

  test("a picture of 100 megapixels is refused in one sentence, before memory is taken", () => {
    const data = new Uint8Array(0);
    expect(() => new Sift(native).extract({ width: 10_000, height: 10_000, data })).toThrow(
      new InvalidInput(
        `features are extracted from at most ${MAX_SIFT_PIXELS} pixels, got 10000×10000; make the picture smaller.`,
      ),
    );
  });

  test.each([
    [0, 5, 0],
    [5, -1, 0],
    [5.5, 5, 110],
    [NaN, 5, 0],
    [70_000, 1, 70_000],
  ])("a picture of %d×%d is refused", (width, height, length) => {
    expect(() => new Sift(native).extract({ width, height, data: new Uint8Array(length) })).toThrow(InvalidInput);
  });

  test("pixels that do not fit the size are refused", () => {
    const data = new Uint8Array(3 * 16 * 16);
    expect(() => new Sift(native).extract({ width: 16, height: 16, data })).toThrow(
      "a picture of 16×16 must have 1024 bytes of RGBA or 256 of gray, got 768.",
    );
  });
});
