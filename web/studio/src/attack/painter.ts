/** A painter on onnxruntime: from what was sent to a picture. Runs in a worker. */

import { InvalidInput, loadNative, Sift } from "@sfumato/device";
import * as ort from "onnxruntime-web/wasm";
import { INFERRED, scaleDescriptors, turned, turnedBack, withFrames, type Seen } from "./encode.ts";
import { findNeighbourhood, peakAngles } from "./neighbours.ts";
import { readFrames, readPainter, type Architecture } from "./onnx.ts";
import { mapPixels } from "./pixels.ts";
import { refined, ROUNDS } from "./refine.ts";

/** Quarter turns that are averaged: what the network made up differs and fades, what the descriptors say stays. */
const LOOKS = 4;
const DIMENSION = 128;
const GRAY = 0.5;

/** Descriptors and positions, as a release without protection has them, at the size of the painting. */
export interface Sent {
  readonly descriptors: Uint8Array;
  readonly keypoints: Float32Array;
  readonly width: number;
  readonly height: number;
  /** How likely the descriptor of a row is the true one: of words, what the law of the release says; else 1. */
  readonly trust: number;
  /** Whether guessed frames are corrected on the painting: worth it where most descriptors are right. */
  readonly refines: boolean;
}

/** Files that a painter is made of. */
export interface PainterFiles {
  readonly runtime: Uint8Array<ArrayBuffer>;
  readonly painter: Uint8Array;
  readonly frames: Uint8Array;
}

export class Painter {
  readonly architecture: Architecture;
  readonly #session: ort.InferenceSession;
  readonly #frames: ort.InferenceSession;
  readonly #neighbours: number;
  #sift: Promise<Sift> | null = null;

  private constructor(architecture: Architecture, session: ort.InferenceSession, frames: ort.InferenceSession, neighbours: number) {
    this.architecture = architecture;
    this.#session = session;
    this.#frames = frames;
    this.#neighbours = neighbours;
  }

  static async open({ frames, painter, runtime }: PainterFiles): Promise<Painter> {
    const [architecture, neighbours] = [readPainter(painter), readFrames(frames)];
    ort.env.wasm.numThreads = 1; // more need headers that a plain file server does not send
    ort.env.wasm.wasmBinary = runtime;
    ort.env.logLevel = "fatal";
    try {
      const [first, second] = [await ort.InferenceSession.create(painter), await ort.InferenceSession.create(frames)];
      return new Painter(architecture, first, second, neighbours);
    } catch (error) {
      throw new InvalidInput(`the networks cannot run in this browser: ${error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : "no reason was given"}.`);
    }
  }

  /** How many looks are averaged; a network that reads frames of both kinds is given one. */
  get looks(): number {
    return this.architecture.frames === "either" ? 1 : LOOKS;
  }

  /** How often the frames of what was sent are corrected; as Python does it. */
  roundsFor({ keypoints, refines }: Sent): number {
    return refines && this.architecture.frames === "either" && keypoints.length > 0 ? ROUNDS.length : 0;
  }

  /** Correct the frames on a painting that was made with them. */
  async refine(sent: Sent, seen: Seen, planes: Float32Array, round: number, pause: () => Promise<void>): Promise<Seen> {
    const sift = await (this.#sift ??= loadNative().then((module) => new Sift(module)));
    const search = ROUNDS[round];
    return search === undefined ? seen : refined(bareOf(sent), seen, planes, search, INFERRED * sent.trust, sift, pause);
  }

  /** What the attacker has of every keypoint: descriptors, positions, and frames that the neighbours give away. */
  async see(sent: Sent): Promise<Seen> {
    const bare = bareOf(sent);
    const { frames } = this.architecture;
    if (frames === "none" || sent.keypoints.length === 0) return bare;
    const count = sent.keypoints.length / 2;
    const near = findNeighbourhood(sent.keypoints, sent.width, sent.height, this.#neighbours);
    const made = await this.#frames.run({
      rows: new ort.Tensor("float32", bare.rows, [count, DIMENSION]),
      index: new ort.Tensor("int64", BigInt64Array.from(near.index, BigInt), [count, this.#neighbours]),
      edges: new ort.Tensor("float32", near.edges, [count, this.#neighbours, 4]),
      border: new ort.Tensor("float32", near.border, [count, 4]),
    });
    const [logits, sizes] = this.#frames.outputNames.map((name) => made[name]?.data as Float32Array | undefined);
    if (logits === undefined || sizes === undefined) throw new InvalidInput("the network for frames gave no answer; load the page again.");
    const scales = sizes.map((size) => 2 ** size);
    return withFrames(bare, scales, peakAngles(logits), frames === "either" ? INFERRED * sent.trust : 1);
  }

  /** One look: RGB planes of the upright picture, not clipped to 0…1. */
  async look(seen: Seen, quarters: number): Promise<Float32Array> {
    const own = turned(seen, quarters);
    const { coordinates, index, offsets, slots, tall, wide } = mapPixels(own, this.architecture.map);
    const count = own.keypoints.length / 2;
    if (own.columns !== this.architecture.channels) {
      throw new InvalidInput(`the network takes rows of ${this.architecture.channels} numbers, got ${own.columns}; it describes itself wrongly.`);
    }
    const rows = new Float32Array((count + 1) * own.columns); // the first one stands for "nobody"
    rows.set(own.rows, own.columns);
    const made = await this.#session.run({
      rows: new ort.Tensor("float32", rows, [count + 1, own.columns]),
      index: new ort.Tensor("int64", BigInt64Array.from(index, BigInt), [1, slots, tall, wide]),
      offsets: new ort.Tensor("float32", offsets, [1, slots, coordinates, tall, wide]),
    });
    const picture = Object.values(made)[0];
    const [, colours, high = 0, broad = 0] = picture?.dims ?? [];
    if (picture === undefined || colours !== 3 || high < own.height || broad < own.width) {
      throw new InvalidInput(`the network painted no picture of ${own.width}×${own.height} pixels; it is not one of sfumato's.`);
    }
    return turnedBack(cropped(picture.data as Float32Array, broad, high, own), own.width, own.height, quarters);
  }
}

/** Rows without frames. */
function bareOf({ descriptors, height, keypoints, width }: Sent): Seen {
  return { rows: scaleDescriptors(descriptors), columns: DIMENSION, keypoints, width, height, scales: null, angles: null };
}

/** A gray picture: what there is to paint from nothing. */
export function blank(width: number, height: number): Float32Array {
  return new Float32Array(3 * width * height).fill(GRAY);
}

/** Without the padding of the map, and in 0…1. */
function cropped(planes: Float32Array, broad: number, high: number, { height, width }: Seen): Float32Array {
  const picture = new Float32Array(3 * width * height);
  for (let plane = 0; plane < 3; plane++) {
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const value = planes[(plane * high + y) * broad + x] ?? GRAY;
        picture[(plane * height + y) * width + x] = Math.min(1, Math.max(0, value));
      }
    }
  }
  return picture;
}
