/** What the paintings mean, in sentences: the same rules as `sfumato attack photo`. */

import { short } from "../../../app/src/dom.ts";

/** A painting shows the scene where its SSIM is above that of one flat colour by more than this. */
const SHOWS = 0.05;
/** Who guesses more than this share of the words right has the picture's words, and may find a better painter. */
const MOST = 0.5;

export interface Measured {
  readonly ssim: number;
  readonly flat: number;
}

/** What one painting shows. */
export function shows({ flat, ssim }: Measured): string {
  const gain = ssim - flat;
  if (gain > SHOWS) return "the painting shows the scene";
  return gain > 0 ? "the painting shows little more than one flat colour would" : "the painting is no nearer to the photograph than one flat colour";
}

export interface Words extends Measured {
  readonly epsilon: number;
  /** Share of the words that are guessed right. */
  readonly right: number;
}

/** The verdict, a sentence for each way of sending. */
export function verdict(raw: Measured | null, words: Words | null): readonly string[] {
  const sentences: string[] = [];
  if (raw !== null) sentences.push(`Without protection (raw features, what most systems send) ${shows(raw)}.`);
  if (words !== null) {
    sentences.push(`With words at ε = ${short(words.epsilon)} per keypoint ${shows(words)}; ${Math.round(100 * words.right)} of 100 words are guessed right.`);
    sentences.push(advice(words));
  }
  return sentences;
}

function advice(words: Words): string {
  if (words.ssim - words.flat > SHOWS || words.right > MOST) {
    return "Move ε down until you recognise nothing, or hide what must not be seen: at this ε this attacker still reads the photograph.";
  }
  return "Look at it all the same: where dots lie dense, outlines show at any ε. A larger attacker, or one trained for longer, may paint more: a painting is a lower bound.";
}
