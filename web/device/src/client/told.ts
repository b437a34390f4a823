/** JSON from a server, read strictly: every value is asked for by name and kind. */
import { checkFingerprint } from "../checks.ts";
import { BadAnswer } from "../errors.ts";

/** A JSON value that is read field by field; every refusal names the field. */
export class Told {
  readonly #what: string;
  readonly #place: string;
  readonly #value: unknown;

  constructor(value: unknown, what: string, place = "the whole") {
    this.#value = value;
    this.#what = what;
    this.#place = place;
  }

  fail(why: string): never {
    throw new BadAnswer(`the server's answer is not ${this.#what}: ${this.#place}: ${why}.`);
  }

  field(name: string): Told {
    const value: unknown =
      typeof this.#value === "object" && this.#value !== null && Object.hasOwn(this.#value, name)
        ? (this.#value as Record<string, unknown>)[name]
        : undefined;
    return new Told(value, this.#what, name);
  }

  get isNull(): boolean {
    return this.#value === null || this.#value === undefined;
  }

  number(low = -Infinity, high = Infinity): number {
    const value = this.#value;
    if (typeof value !== "number" || !Number.isFinite(value) || value < low || value > high) {
      this.fail(`a number ${low === -Infinity ? "" : `from ${low} `}is required`);
    }
    return value;
  }

  whole(low = 0, high = 2 ** 53): number {
    const value = this.number(low, high);
    if (!Number.isInteger(value)) this.fail("a whole number is required");
    return value;
  }

  text(most = 4096): string {
    const value = this.#value;
    if (typeof value !== "string" || value.length > most) this.fail("a text is required");
    return value;
  }

  truth(): boolean {
    if (typeof this.#value !== "boolean") this.fail("true or false is required");
    return this.#value;
  }

  list(most: number, length?: number): Told[] {
    const value = this.#value;
    if (!Array.isArray(value) || value.length > most || (length !== undefined && value.length !== length)) {
      this.fail(`a list of ${length ?? `at most ${most}`} is required`);
    }
    return (value as unknown[]).map((entry) => new Told(entry, this.#what, this.#place));
  }

  numbers(length: number): number[] {
    return this.list(length, length).map((entry) => entry.number());
  }

  fingerprint(): string {
    try {
      return checkFingerprint(this.#value);
    } catch {
      return this.fail("a fingerprint is required");
    }
  }
}

/** The JSON of an answer; `what` it should be. */
export function told(body: Uint8Array, what: string): Told {
  try {
    return new Told(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)), what);
  } catch {
    throw new BadAnswer(`the server's answer is not ${what}: it is no JSON.`);
  }
}
