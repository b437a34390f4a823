/** Exact composition beside the page: counting thousands of answers can take a while. */

import { Composition, SMALL_OBJECT, type PrivateAnswers } from "@sfumato/device";

export interface Question {
  readonly id: number;
  readonly answers: readonly PrivateAnswers[];
}

export interface Counted {
  readonly id: number;
  /** E at δ = 10⁻⁶ of all answers together. */
  readonly exact: number;
  /** Of who guesses between two whole contents. */
  readonly advantage: number;
  /** The same for an object that ten of the first kind's descriptors see. */
  readonly object: number;
}

const scope = self as unknown as DedicatedWorkerGlobalScope;

scope.onmessage = (event: MessageEvent<Question>) => {
  const { answers, id } = event.data;
  const all = new Composition(answers);
  const [first] = answers;
  const few = first === undefined ? null : new Composition([{ ...first, count: Math.min(SMALL_OBJECT, first.count) }]);
  scope.postMessage({ id, exact: all.epsilon(), advantage: all.advantage, object: few?.advantage ?? 0 } satisfies Counted);
};
