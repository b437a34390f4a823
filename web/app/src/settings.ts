/** What the person chose, read from the page's controls. */

import { byId } from "./dom.ts";

export interface Chosen {
  readonly epsilon: number;
  /** Null: by rule. */
  readonly numWords: number | null;
  readonly maxKeypoints: number;
  readonly spread: boolean;
  /** Keypoints in any square of 80 pixels; null: any number. */
  readonly density: number | null;
  /** Larger pictures are made smaller. */
  readonly maxPixels: number;
  /** Millimetres on 35 mm film. */
  readonly lens: number;
  /** N·ε that this browser may spend in all. */
  readonly budget: number;
}

const DEFAULT_LENS = 26; // the main camera of most phones

export function chosen(): Chosen {
  const words = text("words");
  const density = text("density");
  return {
    epsilon: Number(text("epsilon")),
    numWords: words === "" ? null : Number(words),
    maxKeypoints: Number(text("keypoints")),
    spread: text("spread") === "spread",
    density: density === "" ? null : Number(density),
    maxPixels: Number(text("size")),
    lens: between("lens", "the lens", 8, 800),
    budget: between("budget", "the budget", 1, 1e12),
  };
}

/** The lens that a file names, or the usual one; the person may correct it. */
export function showLens(focal35: number | null): void {
  byId<HTMLInputElement>("lens").value = String(focal35 ?? DEFAULT_LENS);
}

/** The focal length in pixels: film is 36 mm along its longer side. */
export function focalInPixels(lens: number, width: number, height: number): number {
  return (lens / 36) * Math.max(width, height);
}

/** How far long work has come, from 0 to 1. */
export function showProgress(done: number): void {
  const bar = byId<HTMLProgressElement>("progress");
  bar.hidden = done >= 1;
  bar.value = done;
}

function text(id: string): string {
  return byId<HTMLInputElement | HTMLSelectElement>(id).value;
}

function between(id: string, what: string, low: number, high: number): number {
  const value = Number(text(id));
  if (!(value >= low && value <= high)) {
    throw new Error(`${what} must be a number from ${low.toLocaleString("en")} to ${high.toLocaleString("en")}; correct it.`);
  }
  return value;
}
