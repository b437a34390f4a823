/** Draws in a worker, a little at a time, and tells what is known after each doubling. */

import { errorMessage, type ErrorMessage } from "@sfumato/device";
import { Audit, type Claim, type Look } from "./audit.ts";

export type FromAudit =
  | { readonly look: Look; readonly done: boolean }
  | { readonly draws: number }
  | { readonly error: ErrorMessage };

export interface ToAudit {
  readonly claim: Claim;
  /** Draws per input, in all. */
  readonly draws: number;
}

const CHUNK = 10_000;
const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<ToAudit>) => void) | null;
  postMessage(message: FromAudit): void;
};

scope.onmessage = ({ data: { claim, draws } }) => {
  try {
    const audit = new Audit(claim);
    let done = 0;
    for (let next = CHUNK; ; next = Math.min(draws, 2 * next)) {
      while (done < next) {
        const count = Math.min(CHUNK, next - done);
        audit.step(count);
        done += count;
        scope.postMessage({ draws: done });
      }
      scope.postMessage({ look: audit.look(), done: done >= draws });
      if (done >= draws) return;
    }
  } catch (error) {
    scope.postMessage({ error: errorMessage(error) });
  }
};
