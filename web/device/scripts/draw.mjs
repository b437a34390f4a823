#!/usr/bin/env node
/**
 * Answers of the shipped sampler, as one release on the standard output.
 *
 *     node web/device/scripts/draw.mjs EPSILON NUM_WORDS SUBSET_SIZE INPUT COUNT
 *
 * `sfumato audit --program "node web/device/scripts/draw.mjs"` examines it. Needs the built files
 * (`bash scripts/web build`): what is examined is what pages get.
 */
import { fileURLToPath } from "node:url";
import { SecureRandom, SubsetMechanism, encode } from "../dist/index.js";

/** Draw as the command line says; tests hand in broken mechanisms. */
export function main(words, Mechanism = SubsetMechanism) {
  const [epsilon, numWords, subsetSize, input, count] = words.map(Number);
  if (words.length !== 5 || [epsilon, numWords, subsetSize, input, count].some(Number.isNaN)) {
    console.error("draw.mjs needs five numbers: EPSILON NUM_WORDS SUBSET_SIZE INPUT COUNT.");
    process.exitCode = 2;
    return;
  }
  const mechanism = new Mechanism(epsilon, numWords, subsetSize);
  const [width, height] = [65_536, Math.ceil((count + 1) / 65_536)];
  const release = encode({
    kind: "words",
    reproducible: false,
    keypoints: Float32Array.from({ length: 2 * count }, (_, i) => (i % 2 ? Math.floor(i / 2 / width) : (i / 2) % width)),
    ...{ width, height, extractor: "audit", camera: null },
    ...{ numWords, subsetSize, epsilon, dictionary: "0".repeat(64) },
    words: mechanism.draw(new Uint32Array(count).fill(input), new SecureRandom()),
  });
  process.stdout.write(release);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
