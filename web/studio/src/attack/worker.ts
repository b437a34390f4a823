/** Paints in a worker: the page stays awake, and a painting that nobody waits for any more is given up. */

import { errorMessage, type ErrorMessage } from "@sfumato/device";
import { blank, Painter, type PainterFiles, type Sent } from "./painter.ts";
import { ssim } from "./similarity.ts";

export type ToPainter =
  | { readonly id: number; readonly open: PainterFiles }
  /** `photo`: RGB planes to compare with. */
  | { readonly id: number; readonly paint: Sent; readonly photo: Float32Array }
  | { readonly stop: number };

/** A painting after so many looks, and rounds in which its frames were corrected. */
export interface Painted {
  /** RGB planes in 0…1. */
  readonly planes: Float32Array;
  readonly looks: number;
  /** This was the last look. */
  readonly isDone: boolean;
  readonly ssim: number;
  readonly milliseconds: number;
}

export type FromPainter =
  | { readonly id: number; readonly painted: Painted }
  | { readonly id: number; readonly opened: { readonly step: number | null; readonly frames: string; readonly readsWords: boolean } }
  | { readonly id: number; readonly stopped: true }
  | { readonly id: number; readonly error: ErrorMessage };

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<ToPainter>) => void) | null;
  postMessage(message: FromPainter): void;
};
let painter: Painter | null = null;
let last: Promise<void> = Promise.resolve();
const stopped = new Set<number>();

async function paint(id: number, sent: Sent, photo: Float32Array): Promise<void> {
  const start = performance.now();
  const rounds = painter?.roundsFor(sent) ?? 0;
  const all = (painter?.looks ?? 1) + rounds;
  const show = (planes: Float32Array, looks: number): void => {
    const painted = { planes, looks, isDone: looks === all, ssim: ssim(photo, planes, sent.width, sent.height), milliseconds: performance.now() - start };
    scope.postMessage({ id, painted });
  };
  if (sent.keypoints.length === 0) {
    show(blank(sent.width, sent.height), all);
    return;
  }
  if (painter === null) throw new Error("the networks are not loaded yet; wait a moment.");
  let seen = await painter.see(sent);
  const pause = async (): Promise<void> => {
    await new Promise((next) => setTimeout(next, 0)); // a message that stops this may have come
    if (stopped.delete(id)) throw new Stopped();
  };
  const total = new Float32Array(3 * sent.width * sent.height);
  let planes: Float32Array = total;
  for (let look = 0; look < all - rounds; look++) {
    await pause();
    planes = await painter.look(seen, look);
    for (let i = 0; i < total.length; i++) total[i] = (total[i] ?? 0) + (planes[i] ?? 0);
    show(total.map((value) => value / (look + 1)), look + 1);
  }
  for (let round = 0; round < rounds; round++) {
    seen = await painter.refine(sent, seen, planes, round, pause);
    planes = await painter.look(seen, 0);
    show(planes, all - rounds + round + 1);
  }
}

/** Nobody waits for this painting any more. */
class Stopped extends Error {}

scope.onmessage = ({ data: message }) => {
  if ("stop" in message) {
    stopped.add(message.stop);
    return;
  }
  const { id } = message;
  last = last.then(async () => {
    try {
      if ("open" in message) {
        painter = await Painter.open(message.open);
        const { frames, readsWords, step } = painter.architecture;
        scope.postMessage({ id, opened: { frames, readsWords, step } });
      } else {
        await paint(id, message.paint, message.photo);
      }
    } catch (error) {
      scope.postMessage(error instanceof Stopped ? { id, stopped: true } : { id, error: errorMessage(error) });
    }
  });
};
