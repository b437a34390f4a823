import { describe, expect, test } from "vitest";
import { MalformedRelease } from "../../src/errors.ts";
import type { Release } from "../../src/wire/releases.ts";
import { snap } from "../../src/wire/positions.ts";
import { decode, encode } from "../../src/wire/wire.ts";
import { goldenBytes, goldenJson, goldenNames } from "../golden.ts";

/** A golden JSON file; its fields are described in docs/wire-format.md. */
interface Told {
  kind: Release["kind"];
  reproducible: boolean;
  image_size: [number, number];
  extractor: string;
  camera: { model: never; params: number[] } | null;
  keypoints: number[][];
  type: "uint8" | "float32" | "float16";
  dimension: number;
  descriptors: number[][];
  num_words: number;
  subset_size: number;
  epsilon: number | "inf";
  dictionary: string;
  words: number[][];
  candidates: number[][][];
  ambient: number;
  offsets: number[][];
  bases: number[][][];
  encoder: string;
  num_values: number;
  num_positions: number;
  label: number | null;
  positions: number[];
  codes: number[];
}

function releaseOf(told: Told): Release {
  const epsilon = told.epsilon === "inf" ? Infinity : told.epsilon;
  const { kind, reproducible, dimension } = told;
  if (kind === "codes") {
    return {
      ...{ kind, reproducible, epsilon, encoder: told.encoder, label: told.label },
      numValues: told.num_values,
      numPositions: told.num_positions,
      positions: Uint32Array.from(told.positions),
      codes: Uint32Array.from(told.codes),
    };
  }
  const [width, height] = told.image_size;
  const fields = {
    ...{ reproducible, width, height, extractor: told.extractor },
    camera: told.camera && { ...told.camera, width, height },
    keypoints: Float32Array.from(told.keypoints.flat()),
  };
  switch (kind) {
    case "plain": {
      const values = told.descriptors.flat();
      const descriptors = told.type === "uint8" ? Uint8Array.from(values) : Float32Array.from(values);
      return { kind, ...fields, dimension, descriptors };
    }
    case "words":
      return {
        ...{ kind, ...fields, epsilon, dictionary: told.dictionary, numWords: told.num_words },
        subsetSize: told.subset_size,
        words: Uint32Array.from(told.words.flat()),
      };
    case "candidates": {
      const candidates = Uint8Array.from(told.candidates.flat(2));
      return { kind, ...fields, epsilon, dimension, subsetSize: told.subset_size, candidates };
    }
    case "subspaces": {
      const type = told.type === "float16" ? "float16" : "float32";
      const [offsets, bases] = [Float32Array.from(told.offsets.flat()), Float32Array.from(told.bases.flat(2))];
      return { kind, ...fields, type, ambient: told.ambient, dimension, offsets, bases };
    }
  }
}

const all = goldenNames("wire/", ".sfr");
/** Vectors are made and read in Python alone. */
const names = all.filter((name) => !name.startsWith("vectors-"));
const unknown = all.filter((name) => name.startsWith("vectors-"));
const refused = goldenNames("wire/refused/", ".sfr");

test("there are golden files of every kind", () => {
  const kinds = new Set(names.map((name) => (goldenJson(`wire/${name}.json`) as Told).kind));
  expect([...kinds].sort()).toEqual(["candidates", "codes", "plain", "subspaces", "words"]);
  expect(names.length).toBeGreaterThanOrEqual(88);
  expect(refused.length).toBeGreaterThanOrEqual(33);
});

describe.each(names)("%s", (name) => {
  const bytes = goldenBytes(`wire/${name}.sfr`);
  const told = releaseOf(goldenJson(`wire/${name}.json`) as Told);

  test("is decoded to what its JSON says", () => {
    expect(decode(bytes)).toEqual(told);
  });

  test("is encoded to the same bytes", () => {
    expect(encode(told)).toEqual(bytes);
  });
});

test.each(unknown)("%s is of a newer kind and refused in a sentence", (name) => {
  expect(() => decode(goldenBytes(`wire/${name}.sfr`))).toThrow(/unknown kind of release 6/);
});

test.each(refused)("%s is refused", (name) => {
  expect(() => decode(goldenBytes(`wire/refused/${name}.sfr`))).toThrow(MalformedRelease);
});

test("a damaged message is refused whatever was changed, and nothing large is allocated for it", () => {
  const bytes = goldenBytes("wire/words-257-2.sfr");
  for (let place = 0; place < bytes.length; place++) {
    for (const bit of [1, 128]) {
      const damaged = bytes.slice();
      damaged[place] = (damaged[place] ?? 0) ^ bit;
      expect(() => decode(damaged)).toThrow(MalformedRelease);
    }
    expect(() => decode(bytes.subarray(0, place))).toThrow(MalformedRelease);
  }
});

test("positions go to the nearest step, halves to the even one, and stay in the picture", () => {
  const given = Float32Array.of(0.06, 0.07, 0.1875, 0.3125, 9.99, -1, 99.9, 79.95);
  expect([...snap(given, 100, 80)]).toEqual([0, 1, 2, 2, 80, 0, 792, 632]);
});
