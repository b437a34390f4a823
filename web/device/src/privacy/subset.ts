/** LDP on a dictionary: the ω-subset mechanism, with exact odds. */
import { at, checkCount, checkEpsilon } from "../checks.ts";
import { chanceOf, subsetCoin, type Coin } from "./odds.ts";
import { drawDistinct, type RandomSource } from "./randomness.ts";

/**
 * Send ω dictionary words per descriptor; the true one is kept with favoured odds.
 *
 *     keep probability = ω·e^ε / (ω·e^ε + |K| − ω)                         [ldp-feat, eq. 5]
 *
 * Guarantee: ε-LDP per descriptor. N descriptors of one picture compose to N·ε. Positions and N
 * lie outside it. With ε = ∞ the true word is always sent: quantised, not private.
 */
export class SubsetMechanism {
  readonly epsilon: number;
  readonly numWords: number;
  readonly subsetSize: number;
  readonly coin: Coin;

  constructor(epsilon: number, numWords: number, subsetSize = 1) {
    this.epsilon = checkEpsilon(epsilon, true);
    this.numWords = checkCount("numWords", numWords, 2, 1 << 24);
    const why =
      subsetSize === numWords
        ? `sending all ${numWords} words of the dictionary carries no information`
        : `the dictionary has ${numWords} words`;
    this.subsetSize = checkCount("subsetSize", subsetSize, 1, numWords - 1, why);
    this.coin = subsetCoin(epsilon, numWords, subsetSize);
  }

  /** The chance that the true word is among those sent. */
  get keepProbability(): number {
    return chanceOf(this.coin);
  }

  /**
   * Answer each true word with a sorted row of ω words: N values become N·ω, row by row.
   *
   * Every row costs the same draws and the same arithmetic, whatever the coin shows.
   */
  draw(trueWords: Uint32Array, source: RandomSource): Uint32Array {
    const [size, count] = [this.subsetSize, trueWords.length];
    // Labels 0 … |K|−2 skip over the true word: the others are uniform among the rest.
    const columns = drawDistinct(this.numWords - 1, size, count, source);
    const slot = source.below(size, count);
    const keep = source.coin(this.coin, count);
    const rows = new Uint32Array(count * size);
    for (let row = 0; row < count; row++) {
      const truth = at(trueWords, row);
      for (let i = 0; i < size; i++) {
        const label = at(at(columns, i), row);
        const other = label + Number(label >= truth);
        const kept = at(keep, row) & Number(slot[row] === i);
        rows[row * size + i] = other + (truth - other) * kept;
      }
      rows.subarray(row * size, (row + 1) * size).sort(); // order says nothing about which was true
    }
    return rows;
  }
}
