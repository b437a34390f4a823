/** Who draws a place: with WebGL, or as a plain picture where there is none. */

import type { Found } from "./found.ts";
import type { Model, ShownCamera } from "./model.ts";
import type { Vector } from "./vectors.ts";
import type { View } from "./view.ts";

/** Colours of the page, as CSS writes them. */
export interface Palette {
  readonly ground: string;
  readonly dots: string;
  readonly cameras: string;
  readonly found: string;
  readonly chosen: string;
  /** Colours of points are pressed into this part of 0…1: black on a dark ground, or white on a light one, would not be seen. */
  readonly range: readonly [number, number];
}

/** What is drawn. */
export interface Shown {
  readonly model: Model;
  /** The map's camera that is chosen. */
  readonly chosen: ShownCamera | null;
  readonly showsCameras: boolean;
  readonly found: Found | null;
  /** Directions from the found camera to its inliers, where their points are not told. */
  readonly rays: readonly Vector[];
}

export interface Painter {
  readonly canvas: HTMLCanvasElement;
  /** Take what is drawn from now on. */
  show(shown: Shown | null, palette: Palette): void;
  /** Draw; at most `most` points while the view moves. Returns how many were drawn. */
  draw(view: View, most: number): number;
  /** Let go of everything. */
  close(): void;
}

/** Sides of frusta: small beside the place. */
export const FRUSTUM = 0.035;
export const FOUND_FRUSTUM = 0.09;
/** How far a ray goes whose point is not told. */
export const RAY = 0.3;

/** The colours of the page where this element is. */
export function paletteOf(element: HTMLElement): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const ground = colour("--card");
  return { ground, range: rangeOn(ground), dots: colour("--dots"), cameras: colour("--soft"), found: colour("--paper"), chosen: colour("--ours") };
}

/** Which colours stand out from a ground, a CSS colour like #fdfcf9. */
export function rangeOn(ground: string): readonly [number, number] {
  const value = Number.parseInt(ground.slice(1, 7), 16);
  const light = ((value >> 16) & 255) + ((value >> 8) & 255) + (value & 255);
  return light > 384 ? [0, 0.7] : [0.36, 1];
}

/** Fit the canvas to its place on the page. False: it has none. */
export function fitCanvas(canvas: HTMLCanvasElement, dense: number): boolean {
  const [width, height] = [Math.round(canvas.clientWidth * dense), Math.round(canvas.clientHeight * dense)];
  if (width < 1 || height < 1) return false;
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  return true;
}
