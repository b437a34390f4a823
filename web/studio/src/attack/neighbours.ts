/** What the network for frames is asked, and how its answer is read; as keypoint_angles.py. */

const BINS = 36;
const SIGHT = 64; // pixels within which a keypoint sees the border
const SAME_PLACE = 0.05;

/** Who is near whom: index (N, k), edges (N, k, 4), border (N, 4). */
export interface Neighbourhood {
  readonly index: Int32Array;
  readonly edges: Float32Array;
  readonly border: Float32Array;
}

/** The nearest other keypoints of each, and the way to them. */
export function findNeighbourhood(points: Float32Array, width: number, height: number, neighbours: number): Neighbourhood {
  const count = points.length / 2;
  const reach = Math.min(neighbours, count - 1);
  const index = new Int32Array(count * neighbours);
  const edges = new Float32Array(count * neighbours * 4);
  const border = new Float32Array(count * 4);
  const apart = new Float64Array(count);
  for (let row = 0; row < count; row++) {
    const [x, y] = [points[2 * row] ?? 0, points[2 * row + 1] ?? 0];
    for (let other = 0; other < count; other++) apart[other] = ((points[2 * other] ?? 0) - x) ** 2 + ((points[2 * other + 1] ?? 0) - y) ** 2;
    apart[row] = Infinity;
    const near = smallest(apart, reach);
    near.forEach((other, rank) => {
      const [dx, dy] = [(points[2 * other] ?? 0) - x, (points[2 * other + 1] ?? 0) - y];
      const distance = Math.hypot(dx, dy);
      const here = row * neighbours + rank;
      index[here] = other;
      const isSame = distance < SAME_PLACE;
      edges.set([isSame ? 0 : dx / distance, isSame ? 0 : dy / distance, Math.log2(distance + 0.5), 1], 4 * here);
    });
    [x, width - 1 - x, y, height - 1 - y].forEach((side, i) => { border[4 * row + i] = 1 - Math.min(SIGHT, Math.max(0, side)) / SIGHT; });
  }
  return { index, edges, border };
}

/** Places of the smallest values, smallest first. */
function smallest(values: Float64Array, count: number): number[] {
  const found: number[] = [];
  let worst = Infinity;
  values.forEach((value, place) => {
    if (found.length === count && value >= worst) return;
    let at = found.length;
    while (at > 0 && (values[found[at - 1] ?? 0] ?? 0) > value) at--;
    found.splice(at, 0, place);
    if (found.length > count) found.pop();
    worst = values[found.at(-1) ?? 0] ?? Infinity;
  });
  return found;
}

/** Degrees of the likeliest direction of each row, refined by the weight around it. */
export function peakAngles(logits: Float32Array): Float32Array {
  return Float32Array.from({ length: logits.length / BINS }, (_, row) => {
    const own = logits.subarray(row * BINS, (row + 1) * BINS);
    const most = Math.max(...own);
    const odds = Array.from(own, (value) => Math.exp(value - most));
    const at = (bin: number): number => odds[(bin + BINS) % BINS] ?? 0;
    let best = 0;
    const smooth = (bin: number): number => at(bin) + at(bin - 1) + at(bin + 1);
    for (let bin = 1; bin < BINS; bin++) if (smooth(bin) > smooth(best)) best = bin;
    let [x, y] = [0, 0];
    for (let step = -2; step <= 2; step++) {
      const turn = (((best + step + BINS) % BINS) * 2 * Math.PI) / BINS;
      x += at(best + step) * Math.cos(turn);
      y += at(best + step) * Math.sin(turn);
    }
    const degrees = Math.fround((((Math.atan2(y, x) * 180) / Math.PI) + 360) % 360);
    return degrees >= 360 ? 0 : degrees;
  });
}
