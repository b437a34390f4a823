/** Numbers as bytes: CRC-32, and floating point of 32 and 16 bits, little-endian everywhere. */
import { at } from "../checks.ts";

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let i = 0; i < 8; i++) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  return value;
});

/** The CRC-32 of zlib, PNG and Ethernet. */
export function crc32(data: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of data) value = (value >>> 8) ^ at(TABLE, (value ^ byte) & 255);
  return (value ^ 0xffffffff) >>> 0;
}

/** The type of floating-point numbers in a payload. */
export type FloatType = "float32" | "float16";

/** Bytes of one number. */
export function floatSize(type: FloatType): number {
  return type === "float32" ? 4 : 2;
}

/** Numbers as little-endian bytes; those of 16 bits are rounded to the nearest, halves to even. */
export function floatsToBytes(values: Float32Array, type: FloatType): Uint8Array {
  const out = new Uint8Array(values.length * floatSize(type));
  const view = new DataView(out.buffer);
  values.forEach((value, i) => {
    if (type === "float32") view.setFloat32(4 * i, value, true);
    else view.setUint16(2 * i, halfFromFloat(value), true);
  });
  return out;
}

/** Undo `floatsToBytes`. */
export function floatsFromBytes(data: Uint8Array, type: FloatType): Float32Array {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const count = data.byteLength / floatSize(type);
  return Float32Array.from({ length: count }, (_, i) =>
    type === "float32" ? view.getFloat32(4 * i, true) : floatFromHalf(view.getUint16(2 * i, true)),
  );
}

function floatFromHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

function halfFromFloat(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(size)) return sign | 0x7e00;
  if (size >= 65520) return sign | 0x7c00; // the middle between the largest one and the next
  const exponent = Math.max(Math.floor(Math.log2(size || 1)), -14);
  for (const power of [exponent, exponent - 1, exponent + 1]) {
    // log2 of a number just below a power of two may be rounded up
    if (power < -14 || (power > -14 && (size < 2 ** power || size >= 2 ** (power + 1)))) continue;
    if (power === -14 && size >= 2 ** -13) continue;
    const steps = roundHalfEven(size * 2 ** (10 - power));
    return sign | (((power + 14) << 10) + steps);
  }
  return sign;
}

/** The nearest whole number; halves to the even one. Exact for what a float32 can hold. */
export function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}
