/** The engine in a worker: long work does not stop the page. */
import { Engine, type EngineSettings, type ProtectedBytes, type ProtectRequest } from "./engine.ts";
import { errorMessage, type ErrorMessage } from "./errors.ts";

/** What a page sends to its worker; the first message starts the engine. */
export type ToWorker =
  | { readonly id: number; readonly start: EngineSettings }
  | { readonly id: number; readonly protect: ProtectRequest };

/** What the worker answers; progress comes any number of times before the end. */
export type FromWorker =
  | { readonly id: number; readonly progress: number }
  | { readonly id: number; readonly done: ProtectedBytes | null }
  | { readonly id: number; readonly error: ErrorMessage };

interface WorkerScope {
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
}

/** Answer the messages of a page, one picture after the other. */
export function serve(scope: WorkerScope): void {
  let engine: Engine | undefined;
  let last: Promise<void> = Promise.resolve();
  scope.onmessage = ({ data: message }) => {
    last = last.then(async () => {
      try {
        if ("start" in message) {
          engine = await Engine.start(message.start);
          scope.postMessage({ id: message.id, done: null });
          return;
        }
        if (engine === undefined) throw new Error("the worker was not started");
        const done = await engine.protect(message.protect, (progress) => {
          scope.postMessage({ id: message.id, progress });
        });
        scope.postMessage({ id: message.id, done }, done === null ? [] : [done.data.buffer]);
      } catch (error) {
        scope.postMessage({ id: message.id, error: errorMessage(error) });
      }
    });
  };
}

// In a worker this file is the program; imported elsewhere it does nothing by itself.
if (typeof (globalThis as { WorkerGlobalScope?: unknown }).WorkerGlobalScope === "function") {
  serve(globalThis as unknown as WorkerScope);
}
