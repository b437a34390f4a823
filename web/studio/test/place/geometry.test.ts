/* eslint-disable @typescript-eslint/no-non-null-assertion -- what is missing here fails the test */
/** Views, cameras and ellipsoids are where they should be. */

import { describe, expect, it } from "vitest";
import { Cloud } from "../../src/place/cloud.ts";
import { ellipsoidOf } from "../../src/place/found.ts";
import { cornersOf, extentOf, halfOf, rayOf, type ShownCamera } from "../../src/place/model.ts";
import { centerOf, cross, dot, eigen, length, minus, rotationOf, unit, type Matrix } from "../../src/place/vectors.ts";
import { projector, View } from "../../src/place/view.ts";

const camera: ShownCamera = { name: "a", center: [1, 2, 3], rotation: [[1, 0, 0], [0, 0, -1], [0, 1, 0]], half: [0.8, 0.6] };

describe("cameras", () => {
  it("stand where cam_from_world says", () => {
    const rotation = rotationOf([0.5, 0.5, 0.5, 0.5])!;
    const center = centerOf(rotation, [1, 2, 3]);
    rotation.forEach((row, i) => { expect(dot(row, center) + [1, 2, 3][i]!).toBeCloseTo(0, 12); });
    expect(rotationOf([0, 0, 0, 0])).toBeNull();
  });

  it("see their corners in the corners of their picture", () => {
    const view = new View();
    view.lookThrough(camera);
    const onto = projector(view.eye(640 / 480), 640, 480);
    const [a, b, c, d] = cornersOf(camera, 2).map(([x, y, z]) => onto(x, y, z)!.map(Math.round));
    expect([a, b, c, d]).toEqual([[0, 0, 2], [640, 0, 2], [640, 480, 2], [0, 480, 2]]);
    const middle = rayOf(camera, 319.5, 239.5, 640, 480);
    expect(length(minus(middle, camera.rotation[2]))).toBeLessThan(1e-12);
  });

  it("of impossible lenses are none", () => {
    expect(halfOf("PINHOLE", 640, 480, [500, 600, 320, 240])).toEqual([0.64, 0.4]);
    expect(halfOf("RADIAL", 640, 480, [500, 320, 240, 0, 0])).toEqual([0.64, 0.48]);
    for (const params of [[], [0, 0], [NaN, 1], [-3, 3]]) expect(halfOf("PINHOLE", 640, 480, params)).toBeNull();
  });
});

describe("a view", () => {
  it("shows all points, upright, after it was turned, moved and reset", () => {
    const view = new View();
    view.show({ middle: [10, 0, 0], span: 4 }, [0, 1, 0]);
    const before = view.eye();
    view.turn(1, 0.4);
    view.pan(0.3, -0.2);
    view.zoom(3);
    expect(length(minus(view.eye().center, before.center))).toBeGreaterThan(0.1);
    view.reset();
    expect(view.eye()).toEqual(before);
    const onto = projector(before, 100, 100);
    const [, low] = onto(10, -1, 0)!;
    const [, high] = onto(10, 1, 0)!;
    expect(high).toBeLessThan(50);
    expect(low).toBeGreaterThan(50);
    expect(dot(cross(before.right, before.down), before.forward)).toBeCloseTo(1, 12);
  });

  it("goes on where a camera looked when it is turned", () => {
    const view = new View();
    view.show({ middle: [0, 0, 0], span: 4 }, [0, 0, 1]);
    view.lookThrough(camera);
    view.turn(0, 0);
    expect(view.through).toBeNull();
    expect(length(minus(view.eye().forward, camera.rotation[2]))).toBeLessThan(1e-9);
    expect(length(minus(view.eye().center, camera.center))).toBeLessThan(1e-9);
  });
});

describe("an ellipsoid", () => {
  it("has the axes of its covariance, at nine times of ten", () => {
    const rotation = rotationOf([0.9, 0.1, -0.3, 0.2])!;
    const values = [9, 4, 0.25];
    const matrix = [0, 1, 2].map((i) => [0, 1, 2].map((j) => values.reduce((sum, value, k) => sum + value * rotation[k]![i]! * rotation[k]![j]!, 0)));
    const six = [0, 1, 2, 3, 4, 5].map((i) => [0, 1, 2, 3, 4, 5].map((j) => (i < 3 || j < 3 ? 7 : matrix[i - 3]![j - 3]!)));
    const found = ellipsoidOf(six, [0, 0, 0])!;
    found.sizes.forEach((size, i) => { expect(size).toBeCloseTo(Math.sqrt(6.2514 * values[i]!), 3); });
    found.axes.forEach((axis, i) => { expect(Math.abs(dot(axis, rotation[i]!))).toBeCloseTo(1, 9); });
    expect(ellipsoidOf(null, [0, 0, 0])).toBeNull();
    expect(ellipsoidOf([[NaN]], [0, 0, 0])).toBeNull();
  });

  it("of a diagonal needs no turning", () => {
    const diagonal: Matrix = [[1, 0, 0], [0, 5, 0], [0, 0, 2]];
    expect(eigen(diagonal).values).toEqual([5, 2, 1]);
  });
});

describe("a cloud", () => {
  it("is thinned evenly where it has too many points, and says so", () => {
    const cloud = new Cloud(true, 100);
    for (let i = 0; i < 1000; i++) cloud.add(i, 0, 0, i % 256, 0, 0);
    const { colours, notes, points } = cloud.finish("it");
    const kept = Array.from({ length: points.length / 3 }, (_, i) => points[3 * i]!).sort((a, b) => a - b);
    expect(kept).toEqual(Array.from({ length: 63 }, (_, i) => 16 * i));
    Array.from({ length: kept.length }, (_, i) => { expect(colours![3 * i]).toBe(points[3 * i]! % 256); });
    expect(notes[0]).toMatch(/every 16th of 1,000 points/);
  });

  it("begins with a fair sample of itself", () => {
    const cloud = new Cloud(false);
    for (let i = 0; i < 10_000; i++) cloud.add(i / 100, 0, 0);
    const { points } = cloud.finish("it");
    const first = extentOf(points.subarray(0, 3 * 500), []);
    expect(first.middle[0]).toBeCloseTo(50, -1);
    expect(first.span).toBeGreaterThan(85);
  });

  it("of one point still has an extent", () => {
    expect(extentOf(Float32Array.of(1, 2, 3), [])).toEqual({ middle: [1, 2, 3], span: 1 });
    expect(extentOf(new Float32Array(0), []).span).toBe(1);
    expect(unit([0, 0, 0])).toEqual([0, 0, 1]);
  });
});
