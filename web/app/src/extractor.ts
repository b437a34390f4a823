/** Asks the worker that finds keypoints. */

import { errorOf, Missing, type Features, type Picture, type Progress } from "@sfumato/device";
import type { FromExtractor, ToExtractor } from "./extract-worker.ts";

interface Waiting {
  readonly done: (features: Features) => void;
  readonly failed: (error: Error) => void;
  readonly progress: Progress;
}

export class Extractor {
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #next = 0;

  /** The features of a picture; the picture does not leave this browser's process. */
  extract(picture: Picture, progress: Progress): Promise<Features> {
    const id = this.#next++;
    return new Promise((done, failed) => {
      this.#waiting.set(id, { done, failed, progress });
      this.#worker ??= this.#start();
      this.#worker.postMessage({ id, picture } satisfies ToExtractor);
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL("./extract-worker.ts", import.meta.url), { type: "module", name: "keypoints" });
    worker.onmessage = ({ data }: MessageEvent<FromExtractor>) => { this.#receive(data); };
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      this.#worker = null;
      const error = new Missing("keypoints could not be looked for: the browser stopped that part of the page; load it again.");
      for (const waiting of this.#waiting.values()) waiting.failed(error);
      this.#waiting.clear();
    };
    return worker;
  }

  #receive(message: FromExtractor): void {
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return;
    if ("progress" in message) {
      waiting.progress(message.progress);
      return;
    }
    this.#waiting.delete(message.id);
    if ("features" in message) waiting.done(message.features);
    else waiting.failed(errorOf(message.error));
  }
}
