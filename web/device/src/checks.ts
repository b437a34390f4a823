/** Checks at the public doors: one sentence pattern for everything that is refused. */
import { InvalidInput } from "./errors.ts";

/** Above this, e^ε says nothing a person could use; ε = ∞ says the same honestly. */
export const MAX_EPSILON = 64;
/** The longest side of a picture. */
export const MAX_SIDE = 65_536;

/** Return value if it is a number and not NaN. */
export function checkNumber(name: string, value: unknown): number {
  if (typeof value !== "number") {
    throw new InvalidInput(`${name} must be a number, got ${value === null ? "null" : typeof value}.`);
  }
  if (Number.isNaN(value)) throw new InvalidInput(`${name} must be a number, got NaN.`);
  return value;
}

/** Return value if it is a whole number with low ≤ value ≤ high. */
export function checkCount(name: string, value: unknown, low: number, high = Number.MAX_SAFE_INTEGER, why = ""): number {
  const number = checkNumber(name, value);
  if (!Number.isInteger(number)) throw new InvalidInput(`${name} must be a whole number, got ${number}.`);
  if (number < low || number > high) {
    const span = high === Number.MAX_SAFE_INTEGER ? `at least ${low}` : `between ${low} and ${high}`;
    throw new InvalidInput(`${name} must be ${span}, got ${number}${why === "" ? "" : `; ${why}`}.`);
  }
  return number;
}

/** Return epsilon if it lies in (0, 64], or is ∞ where that is allowed. */
export function checkEpsilon(epsilon: unknown, allowInfinite = false): number {
  const value = checkNumber("epsilon", epsilon);
  if (value === Infinity && allowInfinite) return value;
  if (!(value > 0 && value <= MAX_EPSILON)) {
    const advice =
      value > MAX_EPSILON
        ? allowInfinite
          ? "use Infinity (no protection, marked as such)"
          : "choose a smaller one"
        : value === 0
          ? "a guarantee of zero would send nothing about the picture"
          : "choose a positive number";
    throw new InvalidInput(`epsilon must be above 0 and at most ${MAX_EPSILON}, got ${value}; ${advice}.`);
  }
  return value;
}

/** Return a SHA-256 fingerprint: 64 lower-case hexadecimal digits. */
export function checkFingerprint(text: unknown): string {
  if (typeof text !== "string" || !/^[0-9a-f]{64}$/.test(text)) {
    throw new InvalidInput("a fingerprint must be 64 lower-case hexadecimal digits.");
  }
  return text;
}

/** Return the name of an extractor: short, lower case, safe in a header and a path. */
export function checkExtractorName(name: unknown): string {
  if (typeof name !== "string" || !/^[a-z0-9][a-z0-9+_.-]{0,23}$/.test(name)) {
    throw new InvalidInput("extractor must be a name of 1 to 24 lower-case letters, digits or + _ . -.");
  }
  return name;
}

/** Refuse a picture without a size that the wire format can hold. */
export function checkImageSize(width: unknown, height: unknown): void {
  checkCount("image width", width, 1, MAX_SIDE);
  checkCount("image height", height, 1, MAX_SIDE);
}

/** Refuse NaN and infinities. */
export function checkFinite(name: string, values: Float32Array): void {
  for (const value of values) {
    if (!Number.isFinite(value)) {
      throw new InvalidInput(`${name} must be finite, some of ${values.length} values are not; remove those rows first.`);
    }
  }
}

/** Refuse indices outside {0, …, limit − 1}. */
export function checkIndices(name: string, values: Uint32Array, limit: number): void {
  for (const value of values) {
    if (value >= limit) {
      throw new InvalidInput(`${name} must lie between 0 and ${limit - 1}, some of ${values.length} do not.`);
    }
  }
}

/** Refuse rows of `width` values that do not strictly increase. */
export function checkIncreasing(name: string, values: Uint32Array, width: number): void {
  for (let i = 1; i < values.length; i++) {
    if (i % width !== 0 && at(values, i) <= at(values, i - 1)) {
      throw new InvalidInput(`every row of ${name} must be strictly increasing.`);
    }
  }
}

/** An entry of an array that the caller knows to be there. */
export function at<T>(values: { readonly [index: number]: T; readonly length: number }, index: number): T {
  return values[index] as T;
}
