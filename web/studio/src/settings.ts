/** Settings from an address, which anybody may have written: what cannot be meant becomes the default, and is told. */

/** Reads settings one by one; `odd` are those that were not understood. */
export class Settings {
  readonly odd: string[] = [];
  readonly #from: URLSearchParams;

  constructor(from: URLSearchParams) {
    this.#from = from;
  }

  number(name: string, usual: number, low: number, high: number): number {
    const text = this.#from.get(name);
    if (text === null) return usual;
    const value = text.trim() === "" ? NaN : Number(text);
    if (value >= low && value <= high) return value;
    this.odd.push(`${name} must be a number from ${low.toLocaleString("en")} to ${high.toLocaleString("en")}`);
    return usual;
  }

  /** One of these, or the first of them. */
  choice<T extends string>(name: string, ...allowed: readonly [T, ...T[]]): T {
    const text = this.#from.get(name);
    if (text === null) return allowed[0];
    const found = allowed.find((one) => one === text);
    if (found !== undefined) return found;
    this.odd.push(`${name} must be one of ${[...new Set(allowed)].filter((one) => one !== "").join(", ")}`);
    return allowed[0];
  }

  /** One sentence about all that was not understood, or "". */
  get complaint(): string {
    return this.odd.length === 0 ? "" : `The address has settings that this page does not understand: ${this.odd.join("; ")}. The usual ones are shown.`;
  }
}
