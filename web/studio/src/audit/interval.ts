/** Intervals that hold the true chance: Clopper–Pearson, from the regularised incomplete beta function. */

/** Bounds on a chance from so many hits; the truth is outside with probability alpha at most. */
export function clopperPearson(hits: number, draws: number, alpha: number): readonly [number, number] {
  const low = hits === 0 ? 0 : betaQuantile(alpha / 2, hits, draws - hits + 1);
  const high = hits === draws ? 1 : betaQuantile(1 - alpha / 2, hits + 1, draws - hits);
  return [low, high];
}

/** Bounds on log(Pr(event | 0) / Pr(event | 1)) from hits in `draws` draws each. */
export function ratioInterval(first: number, second: number, draws: number, alpha: number): readonly [number, number] {
  const [low1, high1] = clopperPearson(first, draws, alpha / 2);
  const [low2, high2] = clopperPearson(second, draws, alpha / 2);
  return [low1 > 0 ? Math.log(low1 / high2) : -Infinity, low2 > 0 ? Math.log(high1 / low2) : Infinity];
}

/** x with I_x(a, b) = share, by halving in x; to 1e-12 of what it is. */
function betaQuantile(share: number, a: number, b: number): number {
  const upper = share > 0.5; // the small side is the exact one
  const wanted = upper ? 1 - share : share;
  let [low, high] = [0, 1];
  for (let step = 0; step < 200 && high - low > 1e-14 * high; step++) {
    const middle = (low + high) / 2;
    const tail = upper ? incompleteBeta(b, a, 1 - middle) : incompleteBeta(a, b, middle);
    if (upper ? tail > wanted : tail < wanted) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** I_x(a, b): the chance that a beta variable is below x. */
export function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, 1 - x);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  return front * fraction(a, b, x);
}

/** The continued fraction of the incomplete beta function, by Lentz's method. */
function fraction(a: number, b: number, x: number): number {
  const tiny = 1e-300;
  const near = (value: number): number => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / near(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m < 100_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / near(1 + even * d);
    c = near(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / near(1 + odd * d);
    c = near(1 + odd / c);
    const change = d * c;
    result *= change;
    if (Math.abs(change - 1) < 1e-15) break;
  }
  return result;
}

/** ln Γ(x) for x > 0: Stirling's series, from 16 on. */
function logGamma(x: number): number {
  let [value, shift] = [x, 0];
  for (; value < 16; value++) shift += Math.log(value);
  const inverse = 1 / (value * value);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / value;
  return (value - 0.5) * Math.log(value) - value + 0.5 * Math.log(2 * Math.PI) + series - shift;
}
