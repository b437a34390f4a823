/* eslint-disable @typescript-eslint/no-non-null-assertion -- what is missing here fails the test */
/** Places are read as sfumato and COLMAP write them; what is broken is refused in one sentence. */

import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { canonicalText } from "../../src/place/manifest.ts";
import { upOf } from "../../src/place/model.ts";
import { readPlace, type FoundFile } from "../../src/place/open.ts";
import { ByteStream, linesOf } from "../../src/place/stream.ts";
import { length, minus } from "../../src/place/vectors.ts";
import { bytesOf, changed, filesOf, sortedPoints } from "./golden.ts";

const quiet = (): void => undefined;
const read = (files: readonly FoundFile[]) => readPlace(files, quiet);

/** A manifest that says something else, with the checksum it would have. */
function told(text: string): Uint8Array<ArrayBuffer> {
  const sum = createHash("sha256").update(canonicalText(text, "checksum")).digest("hex");
  return Uint8Array.from(Buffer.from(text.replace(/"checksum": "[0-9a-f]{64}"/, `"checksum": "${sum}"`)));
}
const reformatted = (from: string, to: string) => (bytes: Uint8Array) => told(Buffer.from(bytes).toString().replace(from, to));
const cut = (share: number) => (bytes: Uint8Array<ArrayBuffer>) => bytes.slice(0, Math.floor(share * bytes.length));

describe("the same scene", () => {
  it("is the same from a map, a binary model, a text model and a PLY", async () => {
    const [map, binary, text, ply] = await Promise.all(
      [filesOf("map"), filesOf("binary"), filesOf("text"), [{ path: "points.ply", file: new Blob([bytesOf("points.ply")]) }]].map(read),
    );
    for (const other of [binary, text, ply]) {
      sortedPoints(other!).forEach((row, i) => { row.forEach((value, axis) => { expect(value).toBeCloseTo(sortedPoints(map!)[i]?.[axis] ?? NaN, 5); }); });
    }
    expect(map?.cameras.length).toBe(3);
    for (const model of [binary, text]) {
      model?.cameras.forEach((camera, i) => { expect(length(minus(camera.center, map!.cameras[i]!.center))).toBeLessThan(1e-9); });
      expect(Math.max(...(model?.colours ?? []))).toBe(200);
      expect(length(minus(model!.up!, upOf(map!.cameras)!))).toBeLessThan(1e-9);
    }
    expect(map?.up).toEqual([0, 0, 1]);
    expect(map?.cameras[1]?.name).toBe('Straße 😀 "quoted".jpg');
    expect([map, binary, text, ply].map((model) => model?.total)).toEqual([12, 12, 12, 12]);
  });

  it("is read the same in pieces of a few bytes", async () => {
    const bytes = bytesOf("binary", "points3D.bin");
    const stream = new ByteStream(new Blob([bytes]), "points3D.bin", quiet, 7);
    expect(await stream.count()).toBe(12);
    let rest = 8;
    while (stream.left > 0) {
      await stream.need(1);
      const [view, at] = stream.take(1);
      expect(view.getUint8(at)).toBe(bytes[rest++]);
    }
    const lines: string[] = [];
    for await (const some of linesOf(new Blob(["one\r\ntwo\n\nthrée"]), "a text", quiet, 3)) lines.push(...some);
    expect(lines).toEqual(["one", "two", "", "thrée"]);
  });
});

describe("a map that is not whole", () => {
  it.each([
    ["of another version", "manifest.json", reformatted('"format": 1', '"format": 2'), /has format 2, this page reads format 1; update the older side\./],
    ["that is a dictionary", "manifest.json", reformatted('"kind": "map"', '"kind": "dictionary"'), /holds a “dictionary”/],
    ["in shards", "manifest.json", reformatted('"kind": "map"', '"kind": "map in shards"'), /map in shards; open the folder of one/],
    ["whose manifest was edited", "manifest.json", (bytes: Uint8Array) => Uint8Array.from(Buffer.from(Buffer.from(bytes).toString().replace("640", "641"))), /its checksum does not match/],
    ["whose manifest is cut", "manifest.json", cut(0.5), /not valid JSON/],
    ["whose points are cut", "points.npy", cut(0.9), /points\.npy is damaged: its checksum/],
    ["without rotations", "rotations.npy", () => null, /rotations\.npy is missing/],
  ] as const)("%s is refused in one sentence", async (_, name, change, sentence) => {
    await expect(read(changed(filesOf("map"), name, change))).rejects.toThrow(sentence);
  });
});

describe("a COLMAP model that is not whole", () => {
  const header = (count: bigint) => (bytes: Uint8Array<ArrayBuffer>) => {
    new DataView(bytes.buffer).setBigUint64(0, count, true);
    return bytes;
  };
  const swapped = (bytes: Uint8Array<ArrayBuffer>) => {
    bytes.subarray(0, 8).reverse();
    return bytes;
  };
  it.each([
    ["cut points", "binary", "points3D.bin", cut(0.6), /is cut, damaged/],
    ["a billion claimed points", "binary", "points3D.bin", header(1_000_000_000n), /announces 1,000,000,000 points, which need at least .* bytes, and 900 are there/],
    ["the other byte order", "binary", "points3D.bin", swapped, /another order/],
    ["no points", "binary", "points3D.bin", () => new Uint8Array(8), /has no points: nothing was triangulated/],
    ["no points as text", "text", "points3D.txt", () => Uint8Array.from(Buffer.from("# nothing\n")), /has no points/],
    ["no points file", "binary", "points3D.bin", () => null, /no points3D file/],
    ["a line cut in the middle", "text", "points3D.txt", (bytes: Uint8Array<ArrayBuffer>) => bytes.slice(0, bytes.lastIndexOf(0x20, bytes.length - 60)), /cut or damaged in line/],
    ["an empty images file", "binary", "images.bin", () => new Uint8Array(0), /images\.bin ends in the middle/],
    ["a track that never ends", "binary", "points3D.bin", (bytes: Uint8Array<ArrayBuffer>) => (new DataView(bytes.buffer).setBigUint64(8 + 43, 1n << 40n, true), bytes), /ends in the middle/],
  ] as const)("with %s is refused in one sentence", async (_, folder, name, change, sentence) => {
    await expect(read(changed(filesOf(folder), name, change))).rejects.toThrow(sentence);
  });

  it("without images shows its points and says so", async () => {
    const model = await read(changed(filesOf("binary"), "images.bin", () => null));
    expect([model.points.length, model.cameras.length]).toEqual([36, 0]);
    expect(model.notes).toEqual(["Cameras are not shown: the model has no cameras or no images file."]);
  });
});

describe("PLY", () => {
  const file = (text: string, ...data: Uint8Array<ArrayBuffer>[]): FoundFile[] => [{ path: "x.ply", file: new Blob([text, ...data]) }];
  const head = (format: string, count: number, more = ""): string =>
    `ply\nformat ${format} 1.0\nelement vertex ${count}\nproperty float x\nproperty float y\nproperty float z\n${more}end_header\n`;
  const floats = (little: boolean, ...values: number[]): Uint8Array<ArrayBuffer> => {
    const view = new DataView(new ArrayBuffer(4 * values.length));
    values.forEach((value, i) => { view.setFloat32(4 * i, value, little); });
    return new Uint8Array(view.buffer);
  };

  it("is read in both byte orders and as text", async () => {
    for (const files of [
      file(head("binary_little_endian", 2), floats(true, 1, 2, 3, 4, 5, 6)),
      file(head("binary_big_endian", 2), floats(false, 1, 2, 3, 4, 5, 6)),
      file(`${head("ascii", 2)}1 2 3\n4 5 6\n`),
    ]) expect(sortedPoints(await read(files))).toEqual([[1, 2, 3], [4, 5, 6]]);
  });

  it("keeps the digits of coordinates far from zero", async () => {
    const double = head("ascii", 2).replaceAll("float", "double");
    const model = await read(file(`${double}500000.001 5400000 0\n500000.002 5400000 0\n`));
    const [one, other] = sortedPoints(model);
    expect((other?.[0] ?? 0) - (one?.[0] ?? 0)).toBeCloseTo(0.001, 6);
    expect(model.origin[0]).toBe(500_000);
  });

  it("leaves out points that are not finite and says how many", async () => {
    const model = await read(file(`${head("ascii", 3)}nan 1 2\n1 2 3\n4 5 6\n`));
    expect(sortedPoints(model).length).toBe(2);
    expect(model.notes).toEqual(["1 point is not shown: no finite position."]);
  });

  it.each([
    ["cut", file(head("binary_little_endian", 3), floats(true, 1, 2, 3, 4)), /announces 3 points, which need 36 bytes, and 16 are there/],
    ["with a billion claimed points", file(head("binary_little_endian", 1_000_000_000), floats(true, 1, 2, 3)), /announces 1,000,000,000 points/],
    ["with a billion claimed points as text", file(`${head("ascii", 1_000_000_000)}1 2 3\n`), /do not suffice/],
    ["cut in the text", file(`${head("ascii", 3)}1.000 2.000 3.000\n4.0000 5.0000 6.0000\n`), /announces 3 points and ends after 2/],
    ["whose bytes are in another order than it says", file(head("binary_little_endian", 2), floats(false, 1, 2, 3, 4, 5, 6)), /another order than it says/],
    ["of NaN alone", file(`${head("ascii", 2)}nan nan nan\nnan nan nan\n`), /no possible positions/],
    ["without an end of its header", file("ply\nformat ascii 1.0\nelement vertex 1\n"), /does not end/],
    ["without z", file(head("ascii", 1).replace("property float z\n", "")), /no z/],
    ["without points", file(head("ascii", 0)), /no points/],
    ["with a negative count", file(head("ascii", -4)), /no count/],
    ["that is a letter", file("Dear Sir,\n"), /no PLY/],
    ["with lists in its vertices", file(head("binary_little_endian", 1, "property list uchar int other\n"), floats(true, 1, 2, 3, 4)), /lists/],
  ] as const)("%s is refused in one sentence", async (_, files, sentence) => {
    await expect(read(files)).rejects.toThrow(sentence);
  });
});

it("says what can be opened where nothing is a place", async () => {
  await expect(read([{ path: "letter.txt", file: new Blob(["Dear Sir"]) }])).rejects.toThrow(/choose the folder of a map, a COLMAP model/);
});
