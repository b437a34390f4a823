/** The parts of the page that need no browser. */

import { describe, expect, it } from "vitest";
import type { WordRelease } from "@sfumato/device";
import { withKey } from "../src/boxes.ts";
import { sentence, short } from "../src/dom.ts";
import { focal35 } from "../src/exif.ts";
import { hexDump, partsOf } from "../src/leaving.ts";
import { kindOf } from "../src/picture.ts";
import { guarantee, guessSentence } from "../src/sentences.ts";
import { focalInPixels } from "../src/settings.ts";

/** A JPEG's first bytes with EXIF that names a focal length on 35 mm film. */
function jpegHead(millimetres: number, little: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(80));
  view.setUint16(0, 0xffd8);
  view.setUint16(2, 0xffe1);
  view.setUint16(4, 70);
  view.setUint32(6, 0x45786966);
  view.setUint16(12, little ? 0x4949 : 0x4d4d);
  view.setUint16(14, 42, little);
  view.setUint32(16, 8, little);
  view.setUint16(20, 1, little); // one entry: where EXIF is
  view.setUint16(22, 0x8769, little);
  view.setUint32(30, 26, little);
  view.setUint16(38, 1, little); // one entry: the focal length
  view.setUint16(40, 0xa405, little);
  view.setUint16(48, millimetres, little);
  return new Uint8Array(view.buffer);
}

describe("what a file says", () => {
  it("names the focal length in either byte order, and nothing where the bytes lie", () => {
    expect(focal35(jpegHead(26, true))).toBe(26);
    expect(focal35(jpegHead(52, false))).toBe(52);
    expect(focal35(jpegHead(3, true))).toBeNull();
    for (let length = 0; length < 50; length++) expect(focal35(jpegHead(26, true).slice(0, length))).toBeNull();
    expect(focal35(new TextEncoder().encode("hello, I am a text"))).toBeNull();
  });

  it("is told by its first bytes, not by its name", () => {
    const bytes = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    expect(kindOf(bytes("\xff\xd8\xff\xe0"))).toBe("picture");
    expect(kindOf(bytes("\x89PNG\r\n\x1a\n"))).toBe("picture");
    expect(kindOf(bytes("RIFF\0\0\0\0WEBP"))).toBe("picture");
    expect(kindOf(bytes("\0\0\0\x20ftypheic"))).toBe("heic");
    expect(kindOf(bytes("\0\0\0\x20ftypavif"))).toBe("picture");
    for (const other of ["", "hello", "RIFF\0\0\0\0WAVE", "<svg></svg>", "%PDF-1.7"]) expect(kindOf(bytes(other))).toBe("unknown");
  });
});

describe("a region that is moved by keys", () => {
  it("stays inside the picture and keeps its size", () => {
    let box = withKey([600, 10, 639, 60], "ArrowRight", false, [640, 480]);
    expect(box).toEqual([601, 10, 640, 60]);
    box = withKey([2, 3, 50, 60], "ArrowUp", false, [640, 480]);
    expect(box).toEqual([2, 0, 50, 57]);
    expect(withKey([0, 0, 9, 9], "Enter", false, [640, 480])).toBeNull();
  });

  it("never vanishes when it is made smaller", () => {
    let box = withKey([100, 100, 112, 112], "ArrowLeft", true, [640, 480]);
    for (let time = 0; time < 5 && box !== null; time++) box = withKey(box, "ArrowUp", true, [640, 480]);
    expect(box).toEqual([100, 100, 108, 108]);
  });
});

describe("the bytes that are shown", () => {
  const release = { keypoints: new Float32Array(14), camera: { params: [1, 1, 1, 1] } } as unknown as WordRelease;

  it("are all of them, in order", () => {
    const bytes = Uint8Array.from({ length: 100 + 32 + 28 + 12 + 4 }, (_, at) => at % 251);
    const shown = hexDump(bytes, release)
      .split("\n")
      .filter((line) => /^[0-9a-f]{6} {2}/.test(line))
      .flatMap((line) => line.slice(8).split(" ").map((text) => parseInt(text, 16)));
    expect(Uint8Array.from(shown)).toEqual(bytes);
  });

  it("have a name for every part, without a gap", () => {
    const parts = partsOf(176, release);
    expect(parts[0]?.[1]).toBe(0);
    expect(parts.at(-1)?.[2]).toBe(176);
    for (let at = 1; at < parts.length; at++) expect(parts[at]?.[1]).toBe(parts[at - 1]?.[2]);
  });
});

describe("what people read", () => {
  it("says what is not protected wherever ε stands", () => {
    const cost = {
      epsilon: 8, numWords: 8192, subsetSize: 1, keypoints: 500, keepProbability: 0.2668, exact: 1463.2, delta: 1e-6, seenBy: 10, advantage: 0.93,
    };
    const text = guarantee(cost).join(" ");
    expect(text).toContain("E = 1,463 except with probability 10⁻⁶");
    expect(text).toContain("N·ε = 4,000");
    expect(text).toContain("at most 97 times in 100");
    expect(text).toContain("Not protected: the positions");
  });

  it("rounds a guess up, never down", () => {
    expect(guessSentence(0.001)).toContain("51 times");
    expect(guessSentence(1)).toContain("every time");
    expect(guessSentence(0)).toContain("at most 50 times");
  });

  it("ends every error as one sentence", () => {
    expect(sentence(new Error("the file is empty"))).toBe("The file is empty.");
    expect(sentence("no.")).toBe("No.");
    expect(sentence(new Error(""))).toBe("Something failed without a reason.");
  });

  it("shortens numbers as Python does", () => {
    expect([short(1463.2), short(29.04), short(0.01234), short(100), short(Infinity)]).toEqual(["1,463", "29", "0.0123", "100", "∞"]);
  });
});

it("counts a lens on 36 mm of film along the longer side", () => {
  expect(focalInPixels(26, 640, 480)).toBeCloseTo(462.2, 1);
  expect(focalInPixels(26, 480, 640)).toBeCloseTo(462.2, 1);
});
