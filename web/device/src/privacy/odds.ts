/**
 * Probabilities as integers, so that a guarantee does not hang on a float.
 *
 * e^ε is irrational; it is enclosed between two fractions. A chance p becomes the coin T/2^bits
 * with T = ⌊p·2^bits⌋, computed from the enclosure and therefore never above p.
 */
import { InvalidInput } from "../errors.ts";

const DIGITS = 80n;

/** A fraction of two whole numbers; the second is positive. */
export interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

/** The decimal a person wrote: 0.1 is a tenth, not the nearest binary number above it. */
export function asWritten(value: number): Fraction {
  const found = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value));
  if (found === null) throw new InvalidInput(`a finite number is needed here, got ${value}.`);
  const [, sign = "", whole = "0", part = "", power = "0"] = found;
  const over = BigInt(`${sign}${whole}${part}`);
  const exponent = Number(power) - part.length;
  return exponent >= 0
    ? { over: over * 10n ** BigInt(exponent), under: 1n }
    : { over, under: 10n ** BigInt(-exponent) };
}

/** Two fractions that enclose e^ε for ε > 0, equal to about 78 digits. */
export function expBounds(epsilon: number): { low: Fraction; high: Fraction } {
  const { mantissa, exponent } = roundedExp(asWritten(epsilon));
  // The number before 1.000… with so many digits has one digit more behind the point.
  const first = mantissa === 10n ** (DIGITS - 1n);
  return {
    low: first ? scaled(mantissa * 10n - 1n, exponent - 1) : scaled(mantissa - 1n, exponent),
    high: scaled(mantissa + 1n, exponent),
  };
}

function scaled(mantissa: bigint, exponent: number): Fraction {
  return exponent >= 0
    ? { over: mantissa * 10n ** BigInt(exponent), under: 1n }
    : { over: mantissa, under: 10n ** BigInt(-exponent) };
}

/** e^x for x ≥ 0 with 80 digits, correctly rounded: mantissa·10^exponent. */
function roundedExp(x: Fraction): { mantissa: bigint; exponent: number } {
  if (x.over < 0n) throw new InvalidInput("an exponent must not be negative here.");
  for (let extra = 40n; ; extra *= 2n) {
    const { value, error, unit } = fixedExp(x, DIGITS + extra + x.over / x.under);
    const [low, high] = [nearest(value - error, unit), nearest(value + error, unit)];
    if (low.mantissa === high.mantissa && low.exponent === high.exponent) return low;
  }
}

/** e^x as value/unit, with an error of at most error/unit; unit has `digits` zeros. */
function fixedExp(x: Fraction, digits: bigint): { value: bigint; error: bigint; unit: bigint } {
  const unit = 10n ** digits;
  let halvings = 0n; // e^x = (e^(x/2^k))^(2^k); each squaring doubles the relative error
  while (x.over * 4n > x.under * 2n ** halvings) halvings++;
  const guard = 10n ** (halvings + 10n);
  const fine = unit * guard;
  const small = (x.over * fine) / (x.under * 2n ** halvings);
  let [sum, term] = [fine, fine];
  for (let i = 1n; term > 0n; i++) {
    term = (term * small) / (fine * i);
    sum += term;
  }
  for (let i = 0n; i < halvings; i++) sum = (sum * sum) / fine;
  // Terms and squarings lose at most some hundred units of `fine`, grown by 2^k at most.
  return { value: sum / guard, error: 10n + sum / 10n ** (digits + 4n), unit };
}

/** value/unit rounded to 80 digits, halves to even. */
function nearest(value: bigint, unit: bigint): { mantissa: bigint; exponent: number } {
  const places = BigInt(unit.toString().length - 1);
  const surplus = BigInt(value.toString().length) - DIGITS;
  const cut = 10n ** surplus;
  let mantissa = value / cut;
  const rest = 2n * (value % cut);
  if (rest > cut || (rest === cut && mantissa % 2n === 1n)) mantissa++;
  return mantissa === 10n ** DIGITS
    ? { mantissa: mantissa / 10n, exponent: Number(surplus - places) + 1 }
    : { mantissa, exponent: Number(surplus - places) };
}

/** A biased coin that shows heads with probability exactly threshold / 2^bits. */
export interface Coin {
  readonly threshold: bigint;
  /** A multiple of 64. */
  readonly bits: number;
}

/** The chance of heads as the nearest float, for people. */
export function chanceOf(coin: Coin): number {
  const shift = BigInt(coin.bits - 64);
  return Number(coin.threshold >> shift) / 2 ** 64;
}

/**
 * The coin of the ω-subset mechanism: keep the true word or not.
 *
 *     p = ω·e^ε / (ω·e^ε + |K| − ω)                                     [ldp-feat, eq. 5]
 *
 * Rounded down, the ratio p/(1−p)·(|K|−ω)/ω stays at or below e^ε. Bits are added until both
 * ratios hold in whole numbers, and until neither side is so rare that rounding would shift it by
 * more than one part in 2^40.
 */
export function subsetCoin(epsilon: number, numWords: number, subsetSize: number): Coin {
  if (epsilon === Infinity) return { threshold: 1n << 64n, bits: 64 };
  const [others, size] = [BigInt(numWords - subsetSize), BigInt(subsetSize)];
  const { low } = expBounds(epsilon);
  const [over, under] = [size * low.over, size * low.over + others * low.under];
  for (let bits = 64; bits <= 8192; bits += 64) {
    const all = 1n << BigInt(bits);
    const heads = (over * all) / under;
    const tails = all - heads;
    const rarer = heads < tails ? heads : tails;
    if (rarer < 1n << 40n) continue;
    const [likely, unlikely] = [heads * others, tails * size];
    if (likely * low.under <= low.over * unlikely && unlikely * low.under <= low.over * likely) {
      return { threshold: heads, bits };
    }
  }
  throw new InvalidInput(
    `epsilon=${epsilon} needs more than 8192 random bits per draw to be exact; use a larger epsilon.`,
  );
}
