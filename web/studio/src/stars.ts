/** Words as a person can see them: 4×4 cells with the strength of 8 directions each, drawn as stars. */

import { make } from "../../app/src/dom.ts";

const CELLS = 4;
const DIRECTIONS = 8;
const ROW = CELLS * CELLS * DIRECTIONS;
const FAINT = 0.12; // of the strongest direction: shorter strokes would only blur the star
const GLYPH = 34; // pixels of the picture that one word is drawn in
const SPACING = 44;
const NAMESPACE = "http://www.w3.org/2000/svg";

/** SVG path data of one word in a square: a stroke per cell and direction. */
export function starPath(word: Uint8Array, left: number, top: number, size: number): string {
  const most = Math.max(1, ...word);
  const cell = size / CELLS;
  let path = "";
  word.forEach((value, i) => {
    if (value < FAINT * most) return;
    const [place, direction] = [Math.floor(i / DIRECTIONS), i % DIRECTIONS];
    const [x, y] = [left + ((place % CELLS) + 0.5) * cell, top + (Math.floor(place / CELLS) + 0.5) * cell];
    const length = (0.56 * cell * value) / most;
    const angle = (direction * Math.PI) / 4; // counter-clockwise, while y points down
    path += `M${x.toFixed(1)} ${y.toFixed(1)}l${(length * Math.cos(angle)).toFixed(1)} ${(-length * Math.sin(angle)).toFixed(1)}`;
  });
  return path;
}

/** Rows that lie apart from each other and from the border, always the same ones for the same positions. */
export function roomyRows(points: Float32Array, width: number, height: number, spacing = SPACING): number[] {
  const taken: [number, number, number][] = [];
  const half = spacing / 2;
  let state = 1;
  const order = Array.from({ length: points.length / 2 }, (_, row): [number, number] => [row, (state = (state * 48271) % 2147483647)]);
  for (const [row] of order.sort(([, a], [, b]) => a - b)) {
    const [x, y] = [points[2 * row] ?? 0, points[2 * row + 1] ?? 0];
    const inside = x >= half && x <= width - half && y >= half && y <= height - half;
    if (inside && taken.every(([, a, b]) => Math.max(Math.abs(a - x), Math.abs(b - y)) >= spacing)) taken.push([row, x, y]);
  }
  return taken.map(([row]) => row);
}

/** All that left, drawn: a dot for every position, and where there is room its word as stars. */
export function drawLeaving(
  points: Float32Array,
  looks: Uint8Array,
  { height, label, width }: { readonly width: number; readonly height: number; readonly label: string },
): SVGSVGElement {
  const unit = Math.max(width, height) / 512;
  const svg = document.createElementNS(NAMESPACE, "svg");
  svg.setAttribute("class", "picture");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  let dots = "";
  for (let i = 0; i < points.length; i += 2) dots += `M${(points[i] ?? 0).toFixed(1)} ${(points[i + 1] ?? 0).toFixed(1)}h0`;
  const glyph = GLYPH * unit;
  const stars = roomyRows(points, width, height, SPACING * unit)
    .map((row) => starPath(looks.subarray(row * ROW, (row + 1) * ROW), (points[2 * row] ?? 0) - glyph / 2, (points[2 * row + 1] ?? 0) - glyph / 2, glyph))
    .join("");
  svg.append(
    part("rect", { class: "ground", width: String(width), height: String(height) }),
    part("path", { class: "dots", d: dots, "stroke-width": String(3.2 * unit) }),
    part("path", { class: "star", d: stars, "stroke-width": String(1.3 * unit) }),
  );
  return svg;
}

/** One word, large. */
export function starTile(word: Uint8Array, label: string): SVGSVGElement {
  const svg = document.createElementNS(NAMESPACE, "svg");
  svg.setAttribute("class", "tile");
  svg.setAttribute("viewBox", "0 0 100 100");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  svg.append(part("rect", { class: "ground", width: "100", height: "100", rx: "10" }), part("path", { class: "star", d: starPath(word, 8, 8, 84) }));
  return svg;
}

function part(name: string, attributes: Record<string, string>): SVGElement {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** A figure with its caption. */
export function figure(content: Element, caption: string): HTMLElement {
  return make("figure", {}, content, make("figcaption", {}, caption));
}
