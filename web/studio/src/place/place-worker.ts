/** Reads places beside the page, so that the page stays quick; ended from outside when it is cancelled. */

import type { Model } from "./model.ts";
import { readPlace, type FoundFile } from "./open.ts";

export type Told =
  | { readonly done: number }
  | { readonly model: Model }
  | { readonly problem: string };

const scope = self as unknown as DedicatedWorkerGlobalScope;

scope.onmessage = (event: MessageEvent<readonly FoundFile[]>) => {
  void answer(event.data);
};

async function answer(files: readonly FoundFile[]): Promise<void> {
  const tell = (told: Told, move: Transferable[] = []): void => { scope.postMessage(told, move); };
  try {
    const model = await readPlace(files, (done) => { tell({ done }); });
    const colours = model.colours === null ? [] : [model.colours.buffer];
    tell({ model }, [model.points.buffer, ...colours]);
  } catch (error) {
    const isOurs = error instanceof Error && error.name === "Unreadable";
    const memory = error instanceof RangeError;
    const files_gone = error instanceof DOMException;
    tell({
      problem: isOurs
        ? error.message
        : memory
          ? "This place needs more memory than the browser gives to a page; open a smaller part of it."
          : files_gone
            ? "A file could not be read: it was moved or changed since it was chosen. Choose it again."
            : `The files could not be read (${error instanceof Error ? error.message : String(error)}).`,
    });
  }
}
