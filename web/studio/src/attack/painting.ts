/** The page's side of the painter: fetches the networks once, asks for paintings, gives up on old ones. */

import { errorOf, Missing } from "@sfumato/device";
import type { Shell, Work } from "../shell.ts";
import type { Sent } from "./painter.ts";
import type { FromPainter, Painted, ToPainter } from "./worker.ts";

const RUNTIME = "runtime/ort.wasm.gz";
const NETWORKS = ["networks/sift-raw.onnx", "networks/sift-frames.onnx"] as const;

interface Waiting {
  readonly receive: (message: FromPainter) => void;
  readonly failed: (error: Error) => void;
}

/** What is known about the painter that was loaded. */
export interface PainterFacts {
  readonly step: number | null;
  readonly frames: string;
  readonly readsWords: boolean;
  readonly bytes: number;
  readonly sha256: string;
}

class Painting {
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #opening: Promise<PainterFacts> | null = null;
  #next = 0;

  /** Load runtime and networks, once. */
  open(shell: Shell, work: Work): Promise<PainterFacts> {
    const opening = (this.#opening ??= this.#load(shell, work));
    opening.catch(() => { this.#opening = null; });
    return opening;
  }

  async #load(shell: Shell, work: Work): Promise<PainterFacts> {
    const part = (from: number, share: number): Partial<Work> => ({ signal: work.signal, progress: (done) => { work.progress(done === null ? null : from + share * done); } });
    const [first, second] = NETWORKS;
    const frames = await shell.fetchAsset(second, part(0, 0.06));
    const painter = await shell.fetchAsset(first, part(0.06, 0.5));
    const runtime = await shell.fetchAsset(RUNTIME, part(0.56, 0.4));
    work.progress(null);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", painter));
    const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    const bytes = painter.length;
    const opened = await this.#ask((id) => ({ id, open: { painter, frames, runtime } }), (message) => ("opened" in message ? message.opened : undefined));
    return { ...opened, bytes, sha256 };
  }

  /** Paint what was sent; `progress` is shown every look. Resolves after the last one; null: given up. */
  paint(sent: Sent, photo: Float32Array, signal: AbortSignal, progress: (painted: Painted) => void): Promise<Painted | null> {
    return this.#ask(
      (id) => {
        signal.addEventListener("abort", () => { this.#worker?.postMessage({ stop: id } satisfies ToPainter); });
        return { id, paint: sent, photo };
      },
      (message) => {
        if ("stopped" in message) return null;
        if (!("painted" in message)) return undefined;
        if (!signal.aborted) progress(message.painted);
        return message.painted.isDone ? message.painted : undefined;
      },
    );
  }

  #ask<T>(question: (id: number) => ToPainter, answer: (message: FromPainter) => T | undefined): Promise<T> {
    const id = this.#next++;
    return new Promise((done, failed) => {
      this.#waiting.set(id, {
        failed,
        receive: (message) => {
          const result = "error" in message ? undefined : answer(message);
          if ("error" in message) failed(errorOf(message.error));
          else if (result === undefined) return;
          else done(result);
          this.#waiting.delete(id);
        },
      });
      this.#worker ??= this.#start();
      this.#worker.postMessage(question(id));
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "painter" });
    worker.onmessage = ({ data }: MessageEvent<FromPainter>) => { this.#waiting.get(data.id)?.receive(data); };
    worker.onerror = (event) => {
      event.preventDefault();
      worker.terminate();
      this.#worker = null;
      this.#opening = null;
      const error = new Missing("the browser stopped the painter, for lack of memory perhaps; load the page again.");
      for (const { failed } of this.#waiting.values()) failed(error);
      this.#waiting.clear();
    };
    return worker;
  }
}

export const painting = new Painting();
