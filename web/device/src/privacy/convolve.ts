/** Convolutions of probabilities, and how wrong they can be. */
import { at } from "../checks.ts";

const DIRECT = 1024; // longer convolutions go through a Fourier transform

/**
 * Their convolution, and the largest possible sum of absolute errors beyond rounding.
 *
 * Short ones term by term, where every entry keeps its relative precision. Long ones by Fourier
 * transform, whose error is absolute: each entry is wrong by at most 10·u·log2(n)·‖a‖·‖b‖, a
 * generous constant for transforms whose length is a power of two.
 */
export function convolve(first: Float64Array, second: Float64Array): { sums: Float64Array; error: number } {
  const size = first.length + second.length - 1;
  if (Math.min(first.length, second.length) <= DIRECT) {
    const sums = new Float64Array(size);
    const [short, long] = first.length < second.length ? [first, second] : [second, first];
    for (let i = 0; i < short.length; i++) {
      const factor = at(short, i);
      for (let j = 0; j < long.length; j++) sums[i + j] = at(sums, i + j) + factor * at(long, j);
    }
    return { sums, error: 0 };
  }
  const length = 2 ** Math.ceil(Math.log2(size));
  // Two real sequences make one complex one; its square holds their product, 2·a·b, beside a² − b².
  const [real, imaginary] = [new Float64Array(length), new Float64Array(length)];
  real.set(first);
  imaginary.set(second);
  transform(real, imaginary);
  const [re, im] = [new Float64Array(length), new Float64Array(length)];
  for (let i = 0; i < length; i++) {
    const j = (length - i) % length;
    const [ar, ai] = [(at(real, i) + at(real, j)) / 2, (at(imaginary, i) - at(imaginary, j)) / 2];
    const [br, bi] = [(at(imaginary, i) + at(imaginary, j)) / 2, (at(real, j) - at(real, i)) / 2];
    re[i] = ar * br - ai * bi;
    im[i] = -(ar * bi + ai * br); // of the conjugate: a transform forward is then one back
  }
  transform(re, im);
  const sums = re.subarray(0, size).map((value) => Math.max(value / length, 0));
  const norms = norm(first) * norm(second);
  return { sums, error: 10 * Number.EPSILON * Math.log2(length) * norms * length };
}

function norm(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return Math.sqrt(sum);
}

/** The Fourier transform in place, radix 2; lengths are powers of two. */
function transform(real: Float64Array, imaginary: Float64Array): void {
  const length = real.length;
  const swap = (values: Float64Array, i: number, j: number): void => {
    const kept = at(values, i);
    values[i] = at(values, j);
    values[j] = kept;
  };
  for (let i = 1, j = 0; i < length; i++) {
    let bit = length >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      swap(real, i, j);
      swap(imaginary, i, j);
    }
  }
  const cosines = Float64Array.from({ length: length / 2 }, (_, i) => Math.cos((2 * Math.PI * i) / length));
  const sines = Float64Array.from({ length: length / 2 }, (_, i) => -Math.sin((2 * Math.PI * i) / length));
  for (let half = 1; half < length; half *= 2) {
    const stride = length / (2 * half);
    for (let start = 0; start < length; start += 2 * half) {
      for (let k = 0; k < half; k++) {
        const [i, j] = [start + k, start + k + half];
        const [c, s] = [at(cosines, k * stride), at(sines, k * stride)];
        const [xr, xi] = [at(real, j), at(imaginary, j)];
        const [yr, yi] = [xr * c - xi * s, xr * s + xi * c];
        const [ur, ui] = [at(real, i), at(imaginary, i)];
        real[i] = ur + yr;
        imaginary[i] = ui + yi;
        real[j] = ur - yr;
        imaginary[j] = ui - yi;
      }
    }
  }
}
