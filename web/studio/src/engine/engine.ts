/** The page's side of the worker that protects; one for all tabs. */

import { errorOf, Missing, type Features, type Picture, type Progress } from "@sfumato/device";
import type { Answer, Ask, FromWorker, Made, ProtectAsk, ToWorker } from "./messages.ts";

interface Waiting {
  readonly done: (answer: Answer) => void;
  readonly failed: (error: Error) => void;
  readonly progress: Progress | undefined;
}

export class Engine {
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #next = 0;

  async extract(picture: Picture, progress?: Progress): Promise<Features> {
    const answer = await this.#ask({ extract: picture }, progress);
    if (!("features" in answer)) throw new Error("the worker answered another question.");
    return answer.features;
  }

  /** Check the words of an archive: the numbers of words that can be chosen. */
  async useWords(archive: Uint8Array, pin: string): Promise<readonly number[]> {
    const answer = await this.#ask({ words: archive, pin });
    if (!("sizes" in answer)) throw new Error("the worker answered another question.");
    return answer.sizes;
  }

  /** A release of the last picture; null where nothing is left to send. */
  async protect(ask: ProtectAsk, progress?: Progress): Promise<Made | null> {
    const answer = await this.#ask({ protect: ask }, progress);
    if (!("made" in answer)) throw new Error("the worker answered another question.");
    return answer.made;
  }

  #ask(ask: Ask, progress?: Progress): Promise<Answer> {
    const id = this.#next++;
    return new Promise((done, failed) => {
      this.#waiting.set(id, { done, failed, progress });
      this.#worker ??= this.#start();
      this.#worker.postMessage({ id, ask } satisfies ToWorker);
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "device" });
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => { this.#receive(data); };
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      this.#worker = null;
      const error = new Missing("the browser stopped the part of the page that computes; load the page again.");
      for (const waiting of this.#waiting.values()) waiting.failed(error);
      this.#waiting.clear();
    };
    return worker;
  }

  #receive(message: FromWorker): void {
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return;
    if ("progress" in message) {
      waiting.progress?.(message.progress);
      return;
    }
    this.#waiting.delete(message.id);
    if ("answer" in message) waiting.done(message.answer);
    else waiting.failed(errorOf(message.error));
  }
}
