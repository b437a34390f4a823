/** Text that came from a server, before it is shown. */

/** On one line, cut, and without characters that cannot be seen. */
export function printable(text: string, limit = 300): string {
  const short = text.length <= limit ? text : `${text.slice(0, limit)} …`;
  return short
    .split(/\s+/u)
    .join(" ")
    .trim()
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (letter) => `\\u${(letter.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}
