/** The device as a page sees it: pictures in, bytes that may leave out. */
import { Engine, type EngineSettings, type ProtectedBytes, type ProtectRequest } from "./engine.ts";
import { Missing, errorOf } from "./errors.ts";
import type { Progress } from "./types.ts";
import type { FromWorker, ToWorker } from "./worker.ts";

/** How a device is started. */
export interface DeviceSettings extends EngineSettings {
  /**
   * Makes the worker, for pages that serve its file from elsewhere; "none" works in this thread,
   * which stops the page while a picture is worked on. In Node there is none.
   */
  readonly worker?: (() => Worker) | "none" | undefined;
  /** Where databases come from outside a browser; only without a worker. */
  readonly factory?: IDBFactory | undefined;
}

interface Waiting {
  readonly resolve: (done: ProtectedBytes | null) => void;
  readonly reject: (error: Error) => void;
  readonly progress: Progress | undefined;
}

/** Protects pictures, one after the other. */
export class Device {
  readonly #engine: Engine | Worker;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;
  #closed = false;

  private constructor(engine: Engine | Worker) {
    this.#engine = engine;
    if (engine instanceof Engine) return;
    engine.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      this.#receive(data);
    };
    engine.onerror = (event) => {
      event.preventDefault();
      this.#fail("the worker of this page cannot run; check that the page serves its file and allows worker-src.");
    };
  }

  /** Start a device: the words are indexed and the ledger is opened before the first picture. */
  static async start(settings: DeviceSettings): Promise<Device> {
    const { factory, worker, ...rest } = settings;
    if (worker === "none" || (worker === undefined && typeof Worker !== "function")) {
      return new Device(await Engine.start(rest, factory));
    }
    const made = worker?.() ?? new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "sfumato" });
    const device = new Device(made);
    try {
      await device.#post({ start: rest });
    } catch (error) {
      device.close();
      throw error;
    }
    return device;
  }

  /**
   * Extract, filter, charge and draw one picture; null where it has nothing to send.
   *
   * An ImageBitmap is moved to the worker and can be used no more. Nothing is sent anywhere.
   */
  async protect(request: ProtectRequest, progress?: Progress): Promise<ProtectedBytes | null> {
    if (this.#closed) throw new Missing("this device was closed; start another one.");
    if (this.#engine instanceof Engine) return this.#engine.protect(request, progress);
    const { image } = request;
    const moved = typeof ImageBitmap === "function" && image instanceof ImageBitmap ? [image] : [];
    return this.#post({ protect: request }, moved, progress);
  }

  /** Stop; what is being worked on is not finished. */
  close(): void {
    this.#closed = true;
    if (this.#engine instanceof Engine) this.#engine.close();
    else {
      this.#engine.terminate();
      this.#fail("this device was closed before it was done.");
    }
  }

  #post(
    message: { start: EngineSettings } | { protect: ProtectRequest },
    moved: Transferable[] = [],
    progress?: Progress,
  ): Promise<ProtectedBytes | null> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, progress });
      try {
        (this.#engine as Worker).postMessage({ id, ...message } satisfies ToWorker, moved);
      } catch (error) {
        this.#waiting.delete(id);
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  #receive(message: FromWorker): void {
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return;
    if ("progress" in message) {
      waiting.progress?.(message.progress);
      return;
    }
    this.#waiting.delete(message.id);
    if ("error" in message) waiting.reject(errorOf(message.error));
    else waiting.resolve(message.done);
  }

  #fail(sentence: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Missing(sentence));
    this.#waiting.clear();
  }
}
