/** The page's painter is Python's: the same inputs of the network, and the same painting. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { decode, loadNative, Sift } from "@sfumato/device";
import { afterAll, beforeAll, expect, it } from "vitest";
import { scaleDescriptors, turned, withFrames, type Seen } from "../src/attack/encode.ts";
import { findNeighbourhood, peakAngles } from "../src/attack/neighbours.ts";
import { readFrames, readMetadata, readPainter } from "../src/attack/onnx.ts";
import { Painter, type Sent } from "../src/attack/painter.ts";
import { mapPixels } from "../src/attack/pixels.ts";
import { shrunk, ssim } from "../src/attack/similarity.ts";
import { furthest, Golden, ROOT, shareOther } from "./golden.ts";

const SHIPPED = join(ROOT, "src/sfumato/adversary/invert/shipped");
const RUNTIME = join(dirname(createRequire(import.meta.url).resolve("onnxruntime-web")), "ort-wasm-simd-threaded.wasm");
let golden: Golden;
let bare: Seen;
let framed: Seen;
let descriptors: Uint8Array;

beforeAll(() => {
  golden = new Golden();
  const release = decode(new Uint8Array(readFileSync(join(import.meta.dirname, "../public/examples/chelsea-lifted.sfr"))));
  if (release.kind !== "plain" || !(release.descriptors instanceof Uint8Array)) throw new Error("the example is no plain release");
  const [height = 0, width = 0] = golden.shape("photo");
  ({ descriptors } = release);
  bare = { rows: scaleDescriptors(descriptors), columns: 128, keypoints: golden.floats("keypoints"), width, height, scales: null, angles: null };
  framed = withFrames(bare, golden.floats("scales"), golden.floats("angles"), 0.5);
});

afterAll(() => { golden.remove(); });

function opened(): Promise<Painter> {
  const read = (path: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(path));
  return Painter.open({ runtime: read(RUNTIME), painter: read(join(SHIPPED, "sift-raw.onnx")), frames: read(join(SHIPPED, "sift-frames.onnx")) });
}

it("asks about neighbours what Python asks", () => {
  const near = findNeighbourhood(bare.keypoints, bare.width, bare.height, 16);
  expect(shareOther(near.index, golden.whole("near-index"))).toBe(0);
  expect(furthest(near.edges, golden.floats("near-edges"))).toBeLessThan(2e-4); // directions of very near ones
  expect(furthest(near.border, golden.floats("near-border"))).toBeLessThan(1e-6);
});

it("reads angles from the network's answer as Python does", () => {
  expect(furthest(peakAngles(golden.floats("logits")), golden.floats("peaks"))).toBeLessThan(1e-3);
});

it.each([
  ["plain", 0, false, 0],
  ["framed", 0, true, 0],
  ["covering", 0, true, 3],
  ["turned", 3, true, 3],
] as const)("lays keypoints out as Python does: %s", (name, quarters, isFramed, covering) => {
  const seen = turned(isFramed ? framed : bare, quarters);
  expect(furthest(seen.rows, golden.floats(`${name}-rows`))).toBeLessThan(1e-5);
  const map = mapPixels(seen, { neighbours: 3, radius: 48, multiple: 32, framed: isFramed, covering });
  const [index, offsets] = [golden.whole(`${name}-index`), golden.floats(`${name}-offsets`)];
  expect([map.slots, map.tall, map.wide]).toEqual(golden.shape(`${name}-index`));
  expect(shareOther(map.index, index)).toBeLessThan(1e-4); // windows that end on a pixel, to a float

  const area = map.tall * map.wide;
  let most = 0;
  offsets.forEach((value, i) => {
    const [slot, block] = [Math.floor(i / area / map.coordinates), i % area];
    if (map.index[slot * area + block] === index[slot * area + block]) most = Math.max(most, Math.abs(value - (map.offsets[i] ?? NaN)));
  });
  expect(most).toBeLessThan(2e-5);
});

it("reads of a network's file what Python reads", () => {
  const painter = readPainter(new Uint8Array(readFileSync(join(SHIPPED, "sift-raw.onnx"))));
  const { channels, covering, frames, multiple, neighbours, radius } = golden.facts;
  expect({ ...painter.map, channels: painter.channels, frames: painter.frames, readsWords: painter.readsWords }).toEqual({ readsWords: golden.facts["readsWords"] === 1, channels, covering, frames, multiple, neighbours, radius, framed: frames !== "none" });
  expect(readFrames(new Uint8Array(readFileSync(join(SHIPPED, "sift-frames.onnx"))))).toBe(16);
});

it("refuses files that are no networks, or cut, in a sentence", () => {
  const whole = new Uint8Array(readFileSync(join(SHIPPED, "sift-frames.onnx")));
  expect(() => readPainter(whole)).toThrow(/does not describe itself/);
  expect(() => readMetadata(whole.subarray(0, whole.length - 7))).toThrow(/damaged or ends in the middle/);
  expect(() => readFrames(new Uint8Array(0))).toThrow(/does not describe itself/);
  expect(() => readMetadata(new Uint8Array([0xff, 0xff]))).toThrow(/damaged/);
});

it("reads the newer layout of networks, and refuses what no release carries", () => {
  const file = (architecture: object): Uint8Array => {
    const entry = [field(1, text("sfumato.architecture")), field(2, text(JSON.stringify({ architecture, step: 7 })))].flat();
    return Uint8Array.from(field(14, entry));
  };
  const shape = { kind: "raw", extractor: "sift", channels: 131, width: 32, depth: 5, neighbours: 3, radius: 48, frames: "either", covering: 3, patches: 12, blocks: 2 };
  expect(readPainter(file(shape))).toEqual({ channels: 131, frames: "either", readsWords: false, step: 7, map: { neighbours: 3, radius: 48, multiple: 32, framed: true, covering: 3 } });
  expect(() => readPainter(file({ ...shape, frames: "given" }))).toThrow(/no release carries/);
  expect(() => readPainter(file({ ...shape, kind: "words" }))).toThrow(/raw sift/);
});

it("paints what Python paints, and measures it alike", async () => {
  const painter = await opened();
  const { height, keypoints, width } = bare;
  const seen = await painter.see({ descriptors, keypoints, width, height, trust: 1, refines: false });
  expect(furthest(seen.scales ?? [], golden.floats("scales"))).toBeLessThan(0.05);
  let total = new Float32Array(3 * width * height);
  for (let look = 0; look < painter.looks; look++) {
    const planes = await painter.look(seen, look);
    total = total.map((value, i) => value + (planes[i] ?? 0) / painter.looks);
  }
  const theirs = golden.planes("picture");
  const mean = total.reduce((sum, value, i) => sum + Math.abs(value - (theirs[i] ?? 0)), 0) / total.length;
  console.log(`the painting differs from Python's by ${mean.toExponential(1)} on average`);
  expect(mean).toBeLessThan(5e-4); // an eighth of a 255th
  expect(ssim(golden.planes("photo"), total, width, height)).toBeCloseTo(Number(golden.facts["ssim"]), 3);
});

it("describes a picture at any frame as OpenCV does", async () => {
  const [height = 0, width = 0] = golden.shape("grey");
  const frames = golden.floats("tried");
  const found = new Sift(await loadNative()).describe({ width, height, data: new Uint8Array(readFileSync(join(golden.folder, "grey"))) }, frames);
  const theirs = golden.floats("described"); // roots of unit length
  const alike = Array.from({ length: frames.length / 4 }, (_, row) => {
    const [own, other] = [Array.from(found.subarray(128 * row, 128 * row + 128), Math.sqrt), theirs.subarray(128 * row, 128 * row + 128)];
    return own.reduce((sum, value, i) => sum + value * (other[i] ?? 0), 0) / Math.hypot(...own);
  });
  expect(alike.length).toBeGreaterThan(500);
  expect(Math.min(...alike)).toBeGreaterThan(0.99); // a bin of 0 or 1 counts much under a root
});

it("corrects frames on the painting, and then paints as near to the photograph as Python", async () => {
  const painter = await opened();
  const [height = 0, width = 0] = golden.shape("photo");
  const what: Sent = { descriptors, keypoints: golden.floats("keypoints"), width, height, trust: 1, refines: true };
  let seen = await painter.see(what);
  let planes = await painter.look(seen, 0);
  for (let round = 0; round < painter.roundsFor(what); round++) {
    seen = await painter.refine(what, seen, planes, round, () => Promise.resolve());
    planes = await painter.look(seen, 0);
  }
  const near = ssim(golden.planes("photo"), planes, width, height);
  console.log(`SSIM with corrected frames ${near.toFixed(3)}, Python's ${Number(golden.facts["refined"]).toFixed(3)}; uncorrected ${Number(golden.facts["ssim"]).toFixed(3)}`);
  expect(Math.abs(near - Number(golden.facts["refined"]))).toBeLessThan(0.02);
});

it("makes a photograph small as OpenCV does by area", () => {
  const rgba = new Uint8Array(4 * 6 * 4).map((_, i) => (i % 4 === 3 ? 255 : (i * 7) % 256));
  const planes = shrunk(rgba, [6, 4], [3, 2]);
  const at = (x: number, y: number): number => rgba[4 * (y * 6 + x)] ?? 0;
  expect(planes[0]).toBeCloseTo((at(0, 0) + at(1, 0) + at(0, 1) + at(1, 1)) / 4 / 255, 5);
});

function text(value: string): number[] {
  return [...new TextEncoder().encode(value)];
}

function field(number: number, content: readonly number[]): number[] {
  const length = content.length < 128 ? [content.length] : [(content.length & 127) | 128, content.length >> 7];
  return [number * 8 + 2, ...length, ...content];
}
