/** Points of a PLY file, ascii or binary of either byte order. Faces and other elements are left out. */

import { Cloud } from "./cloud.ts";
import type { Model } from "./model.ts";
import { many, Unreadable } from "./problem.ts";
import { ByteStream, linesOf, type Progress } from "./stream.ts";

type Reader = (view: DataView, at: number, little: boolean) => number;

const TYPES: Record<string, readonly [size: number, read: Reader, largest: number]> = {
  char: [1, (v, at) => v.getInt8(at), 127],
  uchar: [1, (v, at) => v.getUint8(at), 255],
  short: [2, (v, at, little) => v.getInt16(at, little), 32_767],
  ushort: [2, (v, at, little) => v.getUint16(at, little), 65_535],
  int: [4, (v, at, little) => v.getInt32(at, little), 2 ** 31 - 1],
  uint: [4, (v, at, little) => v.getUint32(at, little), 2 ** 32 - 1],
  float: [4, (v, at, little) => v.getFloat32(at, little), 1],
  double: [8, (v, at, little) => v.getFloat64(at, little), 1],
};
const OTHER_NAMES: Record<string, string> = {
  int8: "char", uint8: "uchar", int16: "short", uint16: "ushort", int32: "int", uint32: "uint", float32: "float", float64: "double",
};
const LONGEST_HEADER = 1 << 16;

interface Property {
  readonly name: string;
  /** Null: a list, whose length only the data know. */
  readonly type: string | null;
}

interface Element {
  readonly name: string;
  readonly count: number;
  readonly properties: Property[];
}

interface Header {
  readonly format: string;
  readonly elements: readonly Element[];
  /** Where the data begin. */
  readonly start: number;
}

export async function readPly(file: Blob, name: string, progress: Progress): Promise<Model> {
  const header = await readHeader(file);
  const place = header.elements.findIndex((element) => element.name === "vertex");
  const vertex = header.elements[place];
  if (vertex === undefined || vertex.count === 0) throw new Unreadable("This PLY has no points: its header announces no vertex.");
  for (const axis of ["x", "y", "z"]) {
    if (!vertex.properties.some((one) => one.name === axis)) throw new Unreadable(`The vertices of this PLY have no ${axis}; positions are needed.`);
  }
  const before = header.elements.slice(0, place);
  const cloud = header.format === "ascii"
    ? await readAscii(file, header, before, vertex, progress)
    : await readBinary(file, header, before, vertex, progress);
  const kept = cloud.finish("this PLY");
  if (kept.points.length === 0) throw new Unreadable("No point of this PLY has a finite position.");
  return { kind: "ply", name, cameras: [], up: null, total: vertex.count, ...kept };
}

async function readHeader(file: Blob): Promise<Header> {
  const text = new TextDecoder("latin1").decode(await file.slice(0, LONGEST_HEADER).arrayBuffer());
  const end = /\nend_header[ \t]*\r?\n/.exec(text);
  if (!/^ply[ \t]*\r?\n/.test(text)) throw new Unreadable("This is no PLY file: it does not begin with “ply”.");
  if (end === null) throw new Unreadable("The header of this PLY does not end: the file is cut, or no PLY.");
  const elements: Element[] = [];
  let format = "";
  for (const line of text.slice(0, end.index).split(/\r?\n/).slice(1)) {
    const words = line.trim().split(/\s+/);
    if (words[0] === "format") format = words[1] ?? "";
    else if (words[0] === "element") {
      const count = Number(words[2]);
      if (!(Number.isSafeInteger(count) && count >= 0)) throw new Unreadable(`The header of this PLY announces “${line.slice(0, 40)}”, which is no count.`);
      elements.push({ name: words[1] ?? "", count, properties: [] });
    } else if (words[0] === "property") elements.at(-1)?.properties.push(propertyOf(words));
  }
  if (!["ascii", "binary_little_endian", "binary_big_endian"].includes(format)) {
    throw new Unreadable(`This PLY has the format “${format.slice(0, 30)}”; ascii, binary_little_endian and binary_big_endian are read.`);
  }
  return { format, elements, start: end.index + end[0].length };
}

function propertyOf(words: readonly string[]): Property {
  if (words[1] === "list") return { name: words[4] ?? "", type: null };
  const type = OTHER_NAMES[words[1] ?? ""] ?? words[1] ?? "";
  if (!Object.hasOwn(TYPES, type)) throw new Unreadable(`This PLY has a property of type “${type.slice(0, 20)}”, which the format does not know.`);
  return { name: words[2] ?? "", type };
}

const COLOURS = [["red", "r", "diffuse_red"], ["green", "g", "diffuse_green"], ["blue", "b", "diffuse_blue"]];

/** The property of each colour, or null where the vertices have none. */
function coloursOf(vertex: Element): readonly number[] | null {
  const found = COLOURS.map((names) => vertex.properties.findIndex((one) => names.includes(one.name)));
  return found.every((place) => place >= 0) ? found : null;
}

function bytesOf(element: Element): number {
  return element.properties.reduce((sum, { type }) => {
    if (type === null) throw new Unreadable(`The element “${element.name.slice(0, 20)}” of this binary PLY has lists before or in its vertices; save the points alone.`);
    return sum + (TYPES[type]?.[0] ?? 0);
  }, 0);
}

async function readBinary(file: Blob, header: Header, before: readonly Element[], vertex: Element, progress: Progress): Promise<Cloud> {
  const little = header.format === "binary_little_endian";
  const stream = new ByteStream(file, "this PLY", progress);
  stream.skip(header.start);
  const row = bytesOf(vertex);
  const first = before.reduce((sum, element) => sum + element.count * bytesOf(element), 0);
  if (first + vertex.count * row > stream.left) {
    throw new Unreadable(
      `This PLY announces ${many(vertex.count)} points, which need ${many(vertex.count * row)} bytes, and ${many(Math.max(0, stream.left - first))} are there: it is cut or damaged.`,
    );
  }
  stream.skip(first);
  const starts: number[] = [];
  vertex.properties.reduce((sum, { type }) => (starts.push(sum), sum + (TYPES[type ?? ""]?.[0] ?? 0)), 0);
  const field = (place: number): ((view: DataView, at: number) => number) => {
    const [type, start] = [TYPES[vertex.properties[place]?.type ?? ""], starts[place] ?? 0];
    return type === undefined ? () => NaN : (view, at) => type[1](view, at + start, little);
  };
  const place = (axis: string): number => vertex.properties.findIndex((one) => one.name === axis);
  const [x, y, z] = [field(place("x")), field(place("y")), field(place("z"))];
  const colours = coloursOf(vertex);
  const tint = (which: number): ((view: DataView, at: number) => number) => {
    const one = colours?.[which];
    if (one === undefined) return () => 0;
    const [read, by] = [field(one), 255 / (TYPES[vertex.properties[one]?.type ?? ""]?.[2] ?? 255)];
    return (view, at) => read(view, at) * by;
  };
  const [red, green, blue] = [tint(0), tint(1), tint(2)];
  const cloud = new Cloud(colours !== null);
  for (let i = 0; i < vertex.count; i++) {
    if (!stream.has(row)) await stream.need(row);
    const [view, at] = stream.take(row);
    if (!cloud.wantsNext) cloud.skip();
    else cloud.add(x(view, at), y(view, at), z(view, at), red(view, at), green(view, at), blue(view, at));
  }
  return cloud;
}

async function readAscii(file: Blob, header: Header, before: readonly Element[], vertex: Element, progress: Progress): Promise<Cloud> {
  const data = file.slice(header.start);
  const place = (axis: string): number => vertex.properties.findIndex((one) => one.name === axis);
  const [x, y, z] = [place("x"), place("y"), place("z")];
  const fields = vertex.properties.length;
  const colours = coloursOf(vertex);
  const scales = colours?.map((one) => 255 / (TYPES[vertex.properties[one]?.type ?? ""]?.[2] ?? 255)) ?? [];
  if (vertex.count * 2 * fields > data.size + 1) {
    throw new Unreadable(`This PLY announces ${many(vertex.count)} points, for which its ${many(data.size)} bytes do not suffice: it is cut or damaged.`);
  }
  const cloud = new Cloud(colours !== null);
  let skipped = before.reduce((sum, element) => sum + element.count, 0);
  let read = 0;
  for await (const lines of linesOf(data, "this PLY", progress)) {
    for (const line of lines) {
      if (line.trim() === "") continue;
      if (skipped > 0) {
        skipped--;
        continue;
      }
      if (read === vertex.count) return cloud;
      const values = line.trim().split(/\s+/, fields).map(Number);
      if (values.length < fields) throw new Unreadable(`This PLY is cut or damaged at point ${many(read + 1)} of ${many(vertex.count)}.`);
      cloud.add(values[x] ?? NaN, values[y] ?? NaN, values[z] ?? NaN, ...(colours?.map((one, i) => (values[one] ?? 0) * (scales[i] ?? 1)) ?? []));
      read++;
    }
  }
  if (read < vertex.count) throw new Unreadable(`This PLY announces ${many(vertex.count)} points and ends after ${many(read)}: it is cut.`);
  return cloud;
}
