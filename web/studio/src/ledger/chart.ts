/** The budget over time, as SVG: stairs that only rise. */

import { short, thousands } from "../../../app/src/dom.ts";
import { svg } from "../frontier/svg.ts";
import type { Step } from "./spending.ts";

const TALL = 300;
const EDGE = { left: 74, right: 18, top: 18, bottom: 44 };

export interface Curve {
  readonly steps: readonly Step[];
  /** What may be spent in all, or null. */
  readonly cap: number | null;
  /** "N·ε" or "E at δ = 10⁻⁶". */
  readonly unit: string;
  /** From the first charge to the last, also while E of the later ones is still being counted. */
  readonly range: readonly [number, number];
}

export function drawBudget({ cap, range, steps, unit }: Curve, width: number): SVGSVGElement {
  const last = steps.at(-1);
  const highest = niceAbove(Math.max(last?.spent ?? 0, cap !== null && cap < 4 * (last?.spent ?? 0) ? cap : 0, 1e-9));
  const [from, to] = range;
  const [wide, high] = [width - EDGE.left - EDGE.right, TALL - EDGE.top - EDGE.bottom];
  const x = (time: number): number => EDGE.left + (to === from ? 0.5 : (time - from) / (to - from)) * wide;
  const y = (spent: number): number => EDGE.top + (1 - spent / highest) * high;
  const label = `${unit} spent over time: ${short(last?.spent ?? 0)} after ${dateOf(to)}${cap === null ? ", no cap" : `, of a cap of ${thousands(cap)}`}`;
  const chart = svg("svg", { viewBox: `0 0 ${width} ${TALL}`, class: "chart ledger-chart", role: "img", "aria-label": label });
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    chart.append(
      svg("line", { class: "grid", x1: EDGE.left, x2: EDGE.left + wide, y1: y(part * highest), y2: y(part * highest) }),
      svg("text", { x: EDGE.left - 8, y: y(part * highest) + 4, "text-anchor": "end" }, short(part * highest)),
    );
  }
  const ends = to === from ? [[from, "middle"] as const] : ([[from, "start"], [to, "end"]] as const);
  const isNarrow = width < 520; // two dates would touch: the later one stands below
  ends.forEach(([time, anchor], i) => { chart.append(svg("text", { x: x(time), y: TALL - (isNarrow && i === 0 ? 26 : 10), "text-anchor": anchor }, dateOf(time, isNarrow))); });
  if (cap !== null && cap <= highest) {
    chart.append(svg("line", { class: "raw", x1: EDGE.left, x2: EDGE.left + wide, y1: y(cap), y2: y(cap) }), svg("text", { x: EDGE.left + wide, y: y(cap) - 6, "text-anchor": "end" }, `cap ${thousands(cap)}`));
  }
  const path = steps.map(({ spent, time }, i) => (i === 0 ? `M${x(time)} ${y(0)}V${y(spent)}` : `H${x(time)}V${y(spent)}`)).join("");
  chart.append(svg("path", { class: "ledger-stairs", d: path === "" ? "M0 0" : path }));
  if (steps.length <= 60) for (const { spent, time } of steps) chart.append(svg("circle", { class: "ledger-dot", cx: x(time), cy: y(spent), r: 3.5 }));
  return chart;
}

export function dateOf(time: number, isShort = false): string {
  return new Date(time).toLocaleString("en", { ...(isShort ? {} : { year: "numeric" }), month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
}

/** The next of 1, 2, 4, 5 or 8 times a power of ten. */
export function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 5, 8, 10].find((first) => first * power >= value) ?? 10) * power;
}
