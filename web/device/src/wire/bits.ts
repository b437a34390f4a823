/** Unsigned integers packed to as few bits as they need, high bit first. */
import { at } from "../checks.ts";

/** Bits that hold every index below numValues: ⌈log2⌉, at least one. */
export function bitWidth(numValues: number): number {
  return 32 - Math.clz32(Math.max(numValues - 1, 1));
}

/** Bytes that hold `count` indices below numValues, exact for any header. */
export function packedLength(count: bigint, numValues: number): bigint {
  return (count * BigInt(bitWidth(numValues)) + 7n) / 8n;
}

/** Pack values of at most 24 bits one behind the other. */
export function packBits(values: Uint32Array, width: number): Uint8Array {
  const out = new Uint8Array(Math.ceil((values.length * width) / 8));
  let [waiting, bits, place] = [0, 0, 0];
  for (const value of values) {
    waiting = (waiting << width) | value; // at most 7 + 24 bits wait
    bits += width;
    while (bits >= 8) {
      bits -= 8;
      out[place++] = waiting >>> bits;
    }
    waiting &= (1 << bits) - 1;
  }
  if (bits > 0) out[place] = waiting << (8 - bits);
  return out;
}

/** Undo `packBits`. */
export function unpackBits(data: Uint8Array, count: number, width: number): Uint32Array {
  const out = new Uint32Array(count);
  let [waiting, bits, place] = [0, 0, 0];
  for (let i = 0; i < count; i++) {
    while (bits < width) {
      waiting = (waiting << 8) | at(data, place++);
      bits += 8;
    }
    bits -= width;
    out[i] = waiting >>> bits;
    waiting &= (1 << bits) - 1;
  }
  return out;
}
