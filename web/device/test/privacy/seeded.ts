/** The seeded source of sfumato's experiments, to compare draws bit by bit; never for a release. */
import { createCipheriv, createHash } from "node:crypto";
import { WordSource } from "../../src/privacy/randomness.ts";

export class SeededRandom extends WordSource {
  readonly reproducible = true;
  readonly #stream;

  constructor(seed: number) {
    super();
    const key = createHash("sha256").update(`sfumato seeded ${seed}`).digest();
    this.#stream = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
  }

  protected words(count: number): Uint32Array {
    const bytes = this.#stream.update(Buffer.alloc(4 * count));
    return Uint32Array.from({ length: count }, (_, i) => bytes.readUInt32LE(4 * i));
  }
}
