/** A small world for tests: a picture with keypoints, a dictionary as a server hands it out, a server. */
import { createHash } from "node:crypto";
import type { DictionaryArrays } from "../src/dictionary/dictionary.ts";
import type { Picture } from "../src/types.ts";

/** Numbers that look random and are the same in every run. */
export function noise(count: number, seed = 1): Uint8Array {
  let state = seed;
  return Uint8Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  });
}

/** Soft blobs on gray: some dozens of keypoints. */
export function blobs(width = 200, height = 160): Picture {
  const data = new Uint8Array(4 * width * height).fill(255);
  const places = noise(3 * 60, 7);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      let value = 128;
      for (let i = 0; i < places.length; i += 3) {
        const [px = 0, py = 0, sign = 0] = places.subarray(i, i + 3);
        const distance = (x - (px * width) / 256) ** 2 + (y - (py * height) / 256) ** 2;
        value += (sign > 127 ? 90 : -90) * Math.exp(-distance / (8 + (sign % 40)));
      }
      data.fill(Math.min(Math.max(Math.round(value), 0), 255), 4 * (y * width + x), 4 * (y * width + x) + 3);
    }
  }
  return { width, height, data };
}

/** A dictionary of random words of 128 values, and its fingerprint. */
export function words(numWords = 2048, seed = 3): { arrays: DictionaryArrays; pin: string } {
  const rows = noise(128 * numWords, seed);
  const pin = createHash("sha256").update(`|u1|${numWords}x128|sift|`).update(rows).digest("hex");
  return { arrays: { extractor: "sift", metric: "l2", dimension: 128, words: rows, levels: [], weights: null, cells: false }, pin };
}

/** The archive in which a server hands it out. */
export function tarOf(arrays: DictionaryArrays): Uint8Array {
  const head = `{'descr': '|u1', 'fortran_order': False, 'shape': (${arrays.words.length / 128}, 128), }`.padEnd(117) + "\n";
  const npy = Buffer.concat([Buffer.from([0x93]), Buffer.from("NUMPY\x01\x00"), Buffer.from([118, 0]), Buffer.from(head), arrays.words]);
  const manifest = Buffer.from(JSON.stringify({ extractor: arrays.extractor, metric: arrays.metric }));
  const file = (name: string, content: Uint8Array): Buffer => {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write(content.length.toString(8).padStart(11, "0"), 124);
    header.write("0", 156);
    return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
  };
  return new Uint8Array(Buffer.concat([file("manifest.json", manifest), file("words.npy", npy), Buffer.alloc(1024)]));
}

/** One request that a server received. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly body: Uint8Array | null;
  readonly headers: Record<string, string>;
}

/** A server in memory: answers in turn, the last one again and again. */
export class FakeServer {
  readonly received: Received[] = [];
  /** Answers to localize requests; an Error is a lost connection. */
  answers: (Response | Error)[] = [];
  online = true;
  readonly #routes: Record<string, () => Response>;

  constructor(routes: Record<string, () => Response>) {
    this.#routes = routes;
  }

  readonly fetch = (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    const body = init.body === undefined || init.body === null ? null : new Uint8Array(init.body as Uint8Array).slice();
    const headers = init.headers as Record<string, string>;
    this.received.push({ method: init.method ?? "GET", path: pathname + search, body, headers });
    if (!this.online) return Promise.reject(new TypeError("fetch failed"));
    if (pathname.endsWith("/localize")) {
      const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
      if (answer instanceof Error) return Promise.reject(answer);
      return Promise.resolve(answer?.clone() ?? json({ error: "nothing" }, 500));
    }
    return Promise.resolve(this.#routes[pathname]?.() ?? json({ error: "not-found", detail: "there is nothing." }, 404));
  };
}

export function json(content: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(content), { status, headers });
}
