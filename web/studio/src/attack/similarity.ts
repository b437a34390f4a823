/** How near a painting is to the photograph: SSIM as scikit-image computes it, over 7×7 windows, mean of colours. */

const WINDOW = 7;
const [C1, C2] = [0.01 ** 2, 0.03 ** 2];

/** Planes of RGB in 0…1, `width` × `height` each. */
export function ssim(one: Float32Array, other: Float32Array, width: number, height: number): number {
  let total = 0;
  for (let plane = 0; plane < 3; plane++) {
    const [start, end] = [plane * width * height, (plane + 1) * width * height];
    total += ssimOfPlane(one.subarray(start, end), other.subarray(start, end), width, height) / 3;
  }
  return total;
}

function ssimOfPlane(a: Float32Array, b: Float32Array, width: number, height: number): number {
  if (width < WINDOW || height < WINDOW) return NaN;
  const sums = [a, b, product(a, a), product(b, b), product(a, b)].map((values) => windowSums(values, width, height));
  const count = WINDOW * WINDOW;
  const sample = count / (count - 1); // the unbiased covariance
  const [sa, sb, saa, sbb, sab] = sums as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
  let total = 0;
  for (let i = 0; i < sa.length; i++) {
    const [ua, ub] = [(sa[i] ?? 0) / count, (sb[i] ?? 0) / count];
    const va = sample * ((saa[i] ?? 0) / count - ua * ua);
    const vb = sample * ((sbb[i] ?? 0) / count - ub * ub);
    const vab = sample * ((sab[i] ?? 0) / count - ua * ub);
    total += ((2 * ua * ub + C1) * (2 * vab + C2)) / ((ua * ua + ub * ub + C1) * (va + vb + C2));
  }
  return total / sa.length;
}

function product(a: Float32Array, b: Float32Array): Float64Array {
  return Float64Array.from(a, (value, i) => value * (b[i] ?? 0));
}

/** The sum of each whole window. */
function windowSums(values: Float32Array | Float64Array, width: number, height: number): Float64Array {
  const [wide, tall] = [width - WINDOW + 1, height - WINDOW + 1];
  const lines = new Float64Array(wide * height);
  for (let y = 0; y < height; y++) {
    let sum = 0;
    for (let x = 0; x < width; x++) {
      sum += values[y * width + x] ?? 0;
      if (x >= WINDOW) sum -= values[y * width + x - WINDOW] ?? 0;
      if (x >= WINDOW - 1) lines[y * wide + x - WINDOW + 1] = sum;
    }
  }
  const sums = new Float64Array(wide * tall);
  for (let x = 0; x < wide; x++) {
    let sum = 0;
    for (let y = 0; y < height; y++) {
      sum += lines[y * wide + x] ?? 0;
      if (y >= WINDOW) sum -= lines[(y - WINDOW) * wide + x] ?? 0;
      if (y >= WINDOW - 1) sums[(y - WINDOW + 1) * wide + x] = sum;
    }
  }
  return sums;
}

/** The photograph at another size as RGB planes in 0…1: each pixel the mean of what it covers. */
export function shrunk(rgba: Uint8ClampedArray | Uint8Array, from: readonly [number, number], to: readonly [number, number]): Float32Array {
  const [wide, tall] = from;
  const [width, height] = to;
  const planes = new Float32Array(3 * width * height);
  const across = spans(wide, width);
  const down = spans(tall, height);
  down.forEach((rows, y) => {
    across.forEach((columns, x) => {
      const sum = [0, 0, 0];
      let weight = 0;
      for (const [row, share] of rows) {
        for (const [column, part] of columns) {
          const at = 4 * (row * wide + column);
          weight += share * part;
          for (let colour = 0; colour < 3; colour++) sum[colour] = (sum[colour] ?? 0) + share * part * (rgba[at + colour] ?? 0);
        }
      }
      sum.forEach((value, colour) => { planes[colour * width * height + y * width + x] = value / weight / 255; });
    });
  });
  return planes;
}

/** Which source pixels each of `count` pixels covers, and how much of each. */
function spans(length: number, count: number): (readonly [number, number])[][] {
  const step = length / count;
  return Array.from({ length: count }, (_, i) => {
    const [low, high] = [i * step, (i + 1) * step];
    const covered: (readonly [number, number])[] = [];
    for (let at = Math.floor(low); at < Math.min(length, Math.ceil(high - 1e-9)); at++) {
      covered.push([at, Math.min(high, at + 1) - Math.max(low, at)]);
    }
    return covered;
  });
}
