/** Vectors and rotations of the world, as plain tuples. */

export type Vector = readonly [number, number, number];
/** Rows of a 3 × 3 matrix. */
export type Matrix = readonly [Vector, Vector, Vector];

export function dot(one: Vector, other: Vector): number {
  return one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
}

export function cross(one: Vector, other: Vector): Vector {
  return [
    one[1] * other[2] - one[2] * other[1],
    one[2] * other[0] - one[0] * other[2],
    one[0] * other[1] - one[1] * other[0],
  ];
}

/** start + by·along */
export function moved(start: Vector, by: number, along: Vector): Vector {
  return [start[0] + by * along[0], start[1] + by * along[1], start[2] + by * along[2]];
}

export function minus(one: Vector, other: Vector): Vector {
  return moved(one, -1, other);
}

export function length(vector: Vector): number {
  return Math.hypot(vector[0], vector[1], vector[2]);
}

/** The same direction with length 1; what has none becomes the third axis. */
export function unit(vector: Vector): Vector {
  const size = length(vector);
  return size > 1e-12 && Number.isFinite(size) ? [vector[0] / size, vector[1] / size, vector[2] / size] : [0, 0, 1];
}

export function isFiniteVector(vector: readonly number[]): boolean {
  return vector.every(Number.isFinite);
}

/** The rotation of a quaternion w, x, y, z of any length above 0; null where there is none. */
export function rotationOf(quaternion: readonly [number, number, number, number]): Matrix | null {
  const size = Math.hypot(...quaternion);
  if (!(size > 1e-9 && Number.isFinite(size))) return null;
  const [w, x, y, z] = quaternion.map((value) => value / size) as [number, number, number, number];
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
  ];
}

/** −Rᵀ·t: where a camera stands whose cam_from_world is R, t. */
export function centerOf(rotation: Matrix, translation: Vector): Vector {
  const start: Vector = [0, 0, 0];
  return rotation.reduce((sum, row, i) => moved(sum, -(translation[i] ?? 0), row), start);
}

/** Rows are orthonormal and right-handed, as far as files can say. */
export function isRotation(rows: Matrix, tolerance = 1e-3): boolean {
  const [a, b, c] = rows;
  const third = minus(cross(a, b), c);
  return [dot(a, a) - 1, dot(b, b) - 1, dot(a, b), ...third].every((value) => Math.abs(value) <= tolerance);
}

/**
 * Eigenvalues and unit eigenvectors of a symmetric 3 × 3 matrix, by Jacobi's rotations; largest first.
 */
export function eigen(matrix: Matrix): { values: Vector; vectors: Matrix } {
  const a = matrix.map((row) => [...row]);
  const v = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  const get = (m: number[][], i: number, j: number): number => m[i]?.[j] ?? 0;
  const set = (m: number[][], i: number, j: number, value: number): void => {
    const row = m[i];
    if (row !== undefined) row[j] = value;
  };
  for (let sweep = 0; sweep < 24; sweep++) {
    for (const [p, q] of [[0, 1], [0, 2], [1, 2]] as const) {
      const off = get(a, p, q);
      if (Math.abs(off) < 1e-300) continue;
      const theta = (get(a, q, q) - get(a, p, p)) / (2 * off);
      const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
      const c = 1 / Math.sqrt(t * t + 1);
      const s = t * c;
      for (let k = 0; k < 3; k++) {
        const [kp, kq] = [get(a, k, p), get(a, k, q)];
        set(a, k, p, c * kp - s * kq);
        set(a, k, q, s * kp + c * kq);
      }
      for (let k = 0; k < 3; k++) {
        const [pk, qk] = [get(a, p, k), get(a, q, k)];
        set(a, p, k, c * pk - s * qk);
        set(a, q, k, s * pk + c * qk);
        const [vkp, vkq] = [get(v, k, p), get(v, k, q)];
        set(v, k, p, c * vkp - s * vkq);
        set(v, k, q, s * vkp + c * vkq);
      }
    }
  }
  const order = [0, 1, 2].sort((i, j) => get(a, j, j) - get(a, i, i));
  const column = (i: number): Vector => [get(v, 0, i), get(v, 1, i), get(v, 2, i)];
  const [first = 0, second = 1, third = 2] = order;
  return {
    values: [get(a, first, first), get(a, second, second), get(a, third, third)],
    vectors: [column(first), column(second), column(third)],
  };
}
