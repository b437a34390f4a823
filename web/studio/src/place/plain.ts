/** A place as a plain picture, where the browser has no WebGL: fewer points, the same view. */

import { cornersOf, type ShownCamera } from "./model.ts";
import { fitCanvas, FOUND_FRUSTUM, FRUSTUM, RAY, type Painter, type Palette, type Shown } from "./painter.ts";
import { moved, type Vector } from "./vectors.ts";
import { projector, type View } from "./view.ts";

const MOST = 60_000;
const MOST_DRAWN_CAMERAS = 2000;

type Onto = (x: number, y: number, z: number) => Vector | null;

export class PlainPainter implements Painter {
  readonly canvas: HTMLCanvasElement;
  #shown: Shown | null = null;
  #palette: Palette | null = null;

  constructor(canvas: HTMLCanvasElement) {
    this.canvas = canvas;
  }

  show(shown: Shown | null, palette: Palette): void {
    [this.#shown, this.#palette] = [shown, palette];
  }

  draw(view: View, most: number): number {
    const context = this.canvas.getContext("2d");
    const dense = Math.min(2, devicePixelRatio);
    if (context === null || this.#palette === null || !fitCanvas(this.canvas, dense)) return 0;
    const { width, height } = this.canvas;
    const palette = this.#palette;
    context.globalAlpha = 1;
    context.fillStyle = palette.ground;
    context.fillRect(0, 0, width, height);
    if (this.#shown === null) return 0;
    const { model, found, rays, chosen, showsCameras } = this.#shown;
    const onto = projector(view.eye(width / height), width, height);
    const count = Math.min(MOST, most, model.points.length / 3);
    this.#points(context, onto, count, dense);
    context.lineWidth = dense;
    if (showsCameras) {
      context.globalAlpha = 0.6;
      for (const camera of model.cameras.slice(0, MOST_DRAWN_CAMERAS)) frustum(context, onto, camera, FRUSTUM * view.span, palette.cameras);
    }
    context.globalAlpha = 1;
    context.lineWidth = 2 * dense;
    if (chosen !== null) frustum(context, onto, chosen, 1.6 * FRUSTUM * view.span, palette.chosen);
    if (found?.camera) {
      const { center } = found.camera;
      const ends = found.points.length > 0 ? found.points : rays.map((ray) => moved(center, RAY * view.span, ray));
      context.globalAlpha = 0.25;
      for (const end of ends) line(context, onto, center, end, palette.found);
      context.globalAlpha = 1;
      context.fillStyle = palette.found;
      for (const [x, y, z] of found.points) dot(context, onto(x, y, z), 2.5 * dense);
      frustum(context, onto, found.camera, FOUND_FRUSTUM * view.span, palette.found);
      for (const ring of ringsOf(found.ellipsoid)) outline(context, onto, ring, palette.found);
    }
    return count;
  }

  #points(context: CanvasRenderingContext2D, onto: Onto, count: number, dense: number): void {
    if (this.#shown === null || this.#palette === null) return;
    const { points, colours } = this.#shown.model;
    const side = 1.6 * dense;
    const [low, high] = this.#palette.range;
    const seenAs = (value = 0): number => Math.round(255 * low + (high - low) * value);
    context.fillStyle = this.#palette.dots;
    for (let i = 0; i < count; i++) {
      const seen = onto(points[3 * i] ?? 0, points[3 * i + 1] ?? 0, points[3 * i + 2] ?? 0);
      if (seen === null) continue;
      if (colours !== null) context.fillStyle = `rgb(${seenAs(colours[3 * i])} ${seenAs(colours[3 * i + 1])} ${seenAs(colours[3 * i + 2])})`;
      context.fillRect(seen[0] - side / 2, seen[1] - side / 2, side, side);
    }
  }

  close(): void {
    this.#shown = null;
  }
}

/** Three circles around an ellipsoid, each as points. */
export function ringsOf(ellipsoid: { center: Vector; sizes: Vector; axes: readonly [Vector, Vector, Vector] } | null, steps = 48): Vector[][] {
  if (ellipsoid === null) return [];
  const { axes, center, sizes } = ellipsoid;
  return ([[0, 1], [0, 2], [1, 2]] as const).map(([one, other]) =>
    Array.from({ length: steps + 1 }, (_, i) => {
      const angle = (2 * Math.PI * i) / steps;
      return moved(moved(center, sizes[one] * Math.cos(angle), axes[one]), sizes[other] * Math.sin(angle), axes[other]);
    }),
  );
}

function frustum(context: CanvasRenderingContext2D, onto: Onto, camera: ShownCamera, far: number, colour: string): void {
  const corners = cornersOf(camera, far);
  for (const corner of corners) line(context, onto, camera.center, corner, colour);
  outline(context, onto, [...corners, corners[0]], colour);
}

function outline(context: CanvasRenderingContext2D, onto: Onto, points: readonly Vector[], colour: string): void {
  points.slice(1).forEach((point, i) => { line(context, onto, points[i] ?? point, point, colour); });
}

function line(context: CanvasRenderingContext2D, onto: Onto, from: Vector, to: Vector, colour: string): void {
  const [start, end] = [onto(...from), onto(...to)];
  if (start === null || end === null) return;
  context.strokeStyle = colour;
  context.beginPath();
  context.moveTo(start[0], start[1]);
  context.lineTo(end[0], end[1]);
  context.stroke();
}

function dot(context: CanvasRenderingContext2D, seen: Vector | null, radius: number): void {
  if (seen === null) return;
  context.beginPath();
  context.arc(seen[0], seen[1], radius, 0, 2 * Math.PI);
  context.fill();
}
