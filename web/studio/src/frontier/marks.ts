/** Shapes and colours of families: colours of Okabe and Ito, shapes for who cannot tell those apart. */

const CIRCLE = "M0 -5.5a5.5 5.5 0 1 0 .01 0z";
const SQUARE = "M-5 -5h10v10h-10z";
const DIAMOND = "M0 -7l6 7l-6 7l-6 -7z";
const UP = "M0 -6.5l6.5 11h-13z";
const DOWN = "M0 6.5l6.5 -11h-13z";
const PLUS = "M-2 -6.5h4v4.5h4.5v4h-4.5v4.5h-4v-4.5h-4.5v-4h4.5z";
const CROSS = "M-6 -4l2 -2l4 4l4 -4l2 2l-4 4l4 4l-2 2l-4 -4l-4 4l-2 -2l4 -4z";
const STAR = "M0 -7l1.8 4.6l5 .3l-3.9 3.1l1.3 4.8l-4.2 -2.7l-4.2 2.7l1.3 -4.8l-3.9 -3.1l5 -.3z";

const MARKS: Record<string, readonly [className: string, path: string]> = {
  raw: ["f-raw", SQUARE],
  "raw, fewer": ["f-raw-other", CIRCLE],
  "raw, capped": ["f-raw-other", PLUS],
  "raw, suppressed": ["f-raw-other", CROSS],
  quantised: ["f-quantised", DIAMOND],
  lifting: ["f-lifting", UP],
  "lifting, dithered": ["f-dithered", DOWN],
  words: ["f-words", CIRCLE],
  "words, fewer": ["f-words-fewer", CIRCLE],
  "words, capped": ["f-words-filtered", PLUS],
  "words, suppressed": ["f-words-filtered", CROSS],
};

/** The order of a legend: what promises something first. */
const ORDER = ["words", "words, fewer", "words, capped", "words, suppressed", "lifting", "lifting, dithered", "quantised", "raw", "raw, fewer", "raw, capped", "raw, suppressed"];

export function markOf(family: string): { readonly className: string; readonly path: string } {
  const [className, path] = MARKS[family] ?? ["f-own", STAR];
  return { className, path };
}

export function inOrder(families: Iterable<string>): string[] {
  const place = (family: string): number => (ORDER.includes(family) ? ORDER.indexOf(family) : ORDER.length);
  return [...new Set(families)].sort((one, other) => place(one) - place(other) || (one < other ? -1 : 1));
}
