/** Asks the worker that counts; the same question is answered once. */

import type { PrivateAnswers } from "@sfumato/device";
import type { Counted, Question } from "./count-worker.ts";

export class Counter {
  readonly #worker = new Worker(new URL("./count-worker.ts", import.meta.url), { type: "module" });
  readonly #waiting = new Map<number, (counted: Counted) => void>();
  readonly #known = new Map<string, Promise<Counted>>();
  #next = 0;

  constructor(left: AbortSignal) {
    this.#worker.onmessage = (event: MessageEvent<Counted>) => {
      this.#waiting.get(event.data.id)?.(event.data);
      this.#waiting.delete(event.data.id);
    };
    left.addEventListener("abort", () => { this.#worker.terminate(); });
  }

  count(answers: readonly PrivateAnswers[]): Promise<Counted> {
    const key = JSON.stringify(answers);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const id = this.#next++;
    const counting = new Promise<Counted>((done) => {
      this.#waiting.set(id, done);
      this.#worker.postMessage({ id, answers } satisfies Question);
    });
    this.#known.set(key, counting);
    return counting;
  }
}
