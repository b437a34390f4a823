/** Broken samplers that an audit must notice: node mutants.mjs NAME and the words of draw.mjs. */
import { SubsetMechanism } from "../dist/index.js";
import { main } from "../scripts/draw.mjs";

/** Draws with a larger ε than it says. */
class LargerEpsilon extends SubsetMechanism {
  draw(trueWords, source) {
    return new SubsetMechanism(1.1 * this.epsilon, this.numWords, this.subsetSize).draw(trueWords, source);
  }
}

/** Forgets that the other words must not be the true one. */
class TruthAmongOthers extends SubsetMechanism {
  draw(trueWords, source) {
    const keep = source.coin(this.coin, trueWords.length);
    const others = source.below(this.numWords, trueWords.length);
    return trueWords.map((truth, row) => (keep[row] ? truth : others[row]));
  }
}

/** The same stream in every run. */
class KnownStream extends SubsetMechanism {
  draw(trueWords) {
    let state = 1;
    const next = (bound) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * bound);
    };
    const below = (bound, count) => Uint32Array.from({ length: count }, () => next(bound));
    const coin = ({ threshold, bits }, count) => below(2 ** 32, count).map((v) => Number(BigInt(v) << BigInt(bits - 32) < threshold));
    return super.draw(trueWords, { reproducible: false, below, coin });
  }
}

const [name, ...words] = process.argv.slice(2);
main(words, { LargerEpsilon, TruthAmongOthers, KnownStream }[name]);
