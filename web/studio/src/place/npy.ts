/** One array of plain numbers in NumPy's .npy format, from a file that anyone may have made. */

import { many, Unreadable } from "./problem.ts";

/** An array as numbers, row after row. */
export interface NumberArray {
  readonly shape: readonly number[];
  readonly values: Float64Array | Float32Array | Int32Array;
}

const HEADER = /^\{(?=.*'descr'\s*:\s*'([<>|=]?)([fiu])([1248])')(?=.*'fortran_order'\s*:\s*(True|False))(?=.*'shape'\s*:\s*\(([\d,\s]*)\))[^{}]*\}\s*$/;
const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
const LONGEST_HEADER = 16 << 10;

/** The array of a whole file; its shape must fit its bytes. Both byte orders are read. */
export function readNpy(name: string, bytes: Uint8Array): NumberArray {
  const wrong = (why: string): Unreadable => new Unreadable(`${name} is damaged: ${why}. Copy the map again.`);
  if (bytes.length < 12 || MAGIC.some((byte, i) => bytes[i] !== byte)) throw wrong("it does not begin like an .npy file");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = bytes[6] ?? 0;
  if (version !== 1 && version !== 2) throw wrong(`its .npy version is ${version}, 1 and 2 are read`);
  const [length, begin] = version === 1 ? [view.getUint16(8, true), 10] : [view.getUint32(8, true), 12];
  if (length > LONGEST_HEADER || begin + length > bytes.length) throw wrong("its header does not end");
  const found = HEADER.exec(new TextDecoder("latin1").decode(bytes.subarray(begin, begin + length)));
  if (found === null) throw wrong("its header is not that of an array of numbers");
  const [, order = "", kind = "", width = "", fortran = "", sizes = ""] = found;
  const shape = sizes.split(",").map((size) => size.trim()).filter((size) => size !== "").map(Number);
  const count = shape.reduce((product, size) => product * size, 1);
  const size = Number(width);
  const there = bytes.length - begin - length;
  if (there !== count * size) {
    throw wrong(`it announces ${many(count)} numbers of ${size} bytes each, and ${many(there)} bytes are there`);
  }
  if (fortran === "True" && shape.length > 1) throw wrong("its columns stand before its rows, which no map of sfumato has");
  return { shape, values: numbersOf(view, begin + length, count, `${kind}${size}`, order !== ">", wrong) };
}

function numbersOf(
  view: DataView, start: number, count: number, type: string, little: boolean, wrong: (why: string) => Unreadable,
): NumberArray["values"] {
  const whole = (read: (at: number) => number, size: number): Int32Array =>
    Int32Array.from({ length: count }, (_, i) => read(start + size * i));
  switch (type) {
    case "f8": {
      const values = new Float64Array(count);
      for (let i = 0; i < count; i++) values[i] = view.getFloat64(start + 8 * i, little);
      return values;
    }
    case "f4": {
      const values = new Float32Array(count);
      for (let i = 0; i < count; i++) values[i] = view.getFloat32(start + 4 * i, little);
      return values;
    }
    case "i8": {
      const values = new Float64Array(count);
      for (let i = 0; i < count; i++) values[i] = Number(view.getBigInt64(start + 8 * i, little));
      return values;
    }
    case "i4": return whole((at) => view.getInt32(at, little), 4);
    case "i2": return whole((at) => view.getInt16(at, little), 2);
    case "u2": return whole((at) => view.getUint16(at, little), 2);
    case "u1": return whole((at) => view.getUint8(at), 1);
    case "i1": return whole((at) => view.getInt8(at), 1);
    default: throw wrong(`its numbers are of type ${type}, which no map of sfumato has`);
  }
}
