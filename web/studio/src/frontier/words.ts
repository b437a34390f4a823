/** Rows and the chart in words: what a person reads who does not look at dots. */

import { short, thousands } from "../../../app/src/dom.ts";
import { guessSentence, NOT_PROTECTED } from "../../../app/src/sentences.ts";
import type { Head } from "./outcomes.ts";
import { said, type Row } from "./rows.ts";

/** Families as people call them. */
export const FAMILIES: Record<string, string> = {
  raw: "raw descriptors",
  "raw, fewer": "raw, fewer keypoints",
  "raw, capped": "raw, density cap",
  "raw, suppressed": "raw, person hidden",
  quantised: "words without noise",
  lifting: "lifted",
  "lifting, dithered": "lifted, dithered",
  words: "private words",
  "words, fewer": "private words, fewer keypoints",
  "words, capped": "private words, density cap",
  "words, suppressed": "private words, person hidden",
};

export function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** What a way promises, with its unit; or that it promises nothing. */
export function promise(row: Row): string {
  if (row.picture !== null && row.object !== null && row.way.epsilon !== null) {
    return (
      `Promise: E = ${short(row.picture)} for a whole picture, except with probability 10⁻⁶. For an object that ten descriptors see, the advantage is ` +
      `${row.object.toFixed(3)}: whoever guesses between two contents of it ${guessSentence(row.object)}. ε holds per descriptor. ${NOT_PROTECTED}`
    );
  }
  if (row.way.kind === "lifting") return "Promise: none. Lifted descriptors carry no guarantee, and attacks on them are known.";
  if (row.way.kind === "quantised") return "Promise: none. Words without noise say exactly which word is nearest.";
  return "Promise: none. The descriptors are sent as they are.";
}

/** All of a row, one sentence after the other. */
export function sentencesOf(row: Row, head: Head): readonly string[] {
  const [low, high] = row.interval;
  const wrong = row.wrong === 0 ? "" : ` ${thousands(row.wrong)} ${row.wrong === 1 ? "answer was" : "answers were"} wrong.`;
  const name = FAMILIES[row.family] ?? row.family;
  const how = row.way.kind === "words" ? said(row.way) : said(row.way).split(", ").slice(1).join(", ");
  const told = [
    `${[`${name.charAt(0).toUpperCase()}${name.slice(1)}`, how, `${thousands(row.keypoints)} keypoints a picture`].filter((part) => part !== "").join(", ")}:`,
    `${percent(row.share)} localized within ${head.within} (95 % interval ${Math.round(100 * low)} to ${Math.round(100 * high)} %, ${thousands(row.answers)} answers).${wrong}`,
    promise(row),
  ];
  if (row.ssim !== null && row.grey !== null) {
    const best = row.attack === null || row.attack === "none needed" ? "The best attack" : `The best attack (${row.attack})`;
    const better = row.ssim > row.grey ? "" : ", so it shows less than an empty grey picture would";
    told.push(`${best} paints with SSIM ${row.ssim.toFixed(3)}; a grey picture has ${row.grey.toFixed(3)}${better}.`);
  }
  return told;
}

/** What the chart says in one sentence. */
export function verdictOf(rows: readonly Row[]): string {
  const raw = rows.find(({ family }) => family === "raw");
  const promised = rows.filter((row) => row.picture !== null && !row.way.isSuppressed);
  if (promised.length === 0) return "No way in this file promises anything.";
  const least = (share: number): Row | undefined =>
    promised.filter((row) => row.share >= share).sort((one, other) => (one.picture ?? 0) - (other.picture ?? 0))[0];
  const wanted = [0.9, 0.5].find((share) => least(share) !== undefined);
  const found = wanted === undefined ? undefined : least(wanted);
  const beside = raw === undefined ? "" : ` Raw descriptors find ${percent(raw.share)} and promise nothing.`;
  if (found?.picture == null || wanted === undefined) {
    const best = Math.max(...promised.map(({ share }) => share));
    return `No private setting here finds half of the pictures; the best finds ${percent(best)}.${beside}`;
  }
  return `The most private setting that finds at least ${percent(wanted)} of the pictures costs E = ${short(found.picture)} a picture, except with probability 10⁻⁶, and finds ${percent(found.share)}.${beside}`;
}
