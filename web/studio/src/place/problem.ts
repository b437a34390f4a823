/** A file that cannot be shown, in one sentence: what is wrong and what to do. */
export class Unreadable extends Error {
  override name = "Unreadable";
}

/** A number for people. */
export function many(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** One point, two points. */
export function counted(value: number, one: string, several = `${one}s`): string {
  return `${many(value)} ${value === 1 ? one : several}`;
}
