/** Utility against leak, as SVG: every point can be reached with keys and says itself in words. */

import type { Row, Leak } from "./rows.ts";
import { axisOf } from "./scale.ts";
import { markOf } from "./marks.ts";
import { svg } from "./svg.ts";

const TALL = 440;
const EDGE = { left: 66, right: 18, top: 14, bottom: 64 };

export interface ChartOptions {
  readonly leak: Leak;
  readonly width: number;
  /** What a point says to who cannot see it. */
  readonly describe: (row: Row) => string;
  /** A point was reached by mouse, touch or keys. */
  readonly chosen: (row: Row) => void;
}

/** The chart of these rows; points are in the order of keys, from more private to less. */
export function drawChart(rows: readonly Row[], options: ChartOptions): SVGSVGElement {
  const { leak, width } = options;
  const [wide, high] = [width - EDGE.left - EDGE.right, TALL - EDGE.top - EDGE.bottom];
  const isNarrow = wide < 420;
  const axis = axisOf(leak, rows, isNarrow);
  const x = (at: number): number => EDGE.left + at * wide;
  const y = (share: number): number => EDGE.top + (1 - share) * high;
  const placed = rows
    .flatMap((row) => {
      const at = axis.place(row);
      return at === null ? [] : [{ row, at }];
    })
    .sort((one, other) => one.at - other.at || one.row.share - other.row.share);
  const chart = svg("svg", { viewBox: `0 0 ${width} ${TALL}`, class: "chart frontier-chart", role: "group", "aria-label": `Share localized against ${axis.title.replace("← more private · ", "")}; ${placed.length} points; arrow keys go from one to the next` });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    chart.append(
      svg("line", { class: "grid", x1: x(0), x2: x(1), y1: y(share), y2: y(share) }),
      svg("text", { x: x(0) - 8, y: y(share) + 4, "text-anchor": "end" }, `${100 * share} %`),
    );
  }
  const shown = isNarrow ? axis.ticks.filter((_, i) => i % 2 === 0 || i === axis.ticks.length - 1) : axis.ticks;
  for (const [at, text] of shown) {
    chart.append(
      svg("line", { class: "grid", x1: x(at), x2: x(at), y1: y(0), y2: y(0) + 6 }),
      svg("text", { x: x(at), y: y(0) + 22, "text-anchor": "middle" }, text),
    );
  }
  if (axis.behind !== null) chart.append(svg("line", { class: "raw", x1: x(axis.behind), x2: x(axis.behind), y1: y(1), y2: y(0) }));
  if (axis.line !== null) {
    const [at, text] = axis.line;
    const side = at > 0.5 ? "end" : "start";
    chart.append(
      svg("line", { class: "raw", x1: x(at), x2: x(at), y1: y(1), y2: y(0) }),
      svg("text", { x: x(at) + (side === "end" ? -6 : 6), y: y(0) - 8, "text-anchor": side }, text),
    );
  }
  chart.append(
    svg("text", { x: x(0.5), y: TALL - 14, "text-anchor": "middle" }, axis.title),
    svg("text", { x: 14, y: y(0.5), "text-anchor": "middle", transform: `rotate(-90 14 ${y(0.5)})` }, "localized"),
    stairs(placed.filter(({ row }) => row.fronts.includes(leak)), x, y),
    ...placed.map(({ row, at }) => pointOf(row, x(at), y, leak, options)),
  );
  reachable(chart, placed.map(({ row }) => row), options);
  return chart;
}

/** No other way leaks less and finds more than what lies on this line. */
function stairs(front: readonly { row: Row; at: number }[], x: (at: number) => number, y: (share: number) => number): SVGPathElement {
  const path = front.map(({ row, at }, i) => (i === 0 ? `M${x(at)} ${y(row.share)}` : `H${x(at)}V${y(row.share)}`)).join("");
  return svg("path", { class: "frontier-front", d: path === "" ? "M0 0" : path, "aria-hidden": "true" });
}

function pointOf(row: Row, x: number, y: (share: number) => number, leak: Leak, options: ChartOptions): SVGGElement {
  const { className, path } = markOf(row.family);
  const [low, high] = row.interval;
  const group = svg("g", { class: `frontier-point ${className}${row.fronts.includes(leak) ? " is-front" : ""}`, role: "img", tabindex: "-1", "aria-label": options.describe(row) });
  group.append(
    svg("path", { class: "frontier-bar", d: `M${x} ${y(low)}V${y(high)}M${x - 4} ${y(low)}h8M${x - 4} ${y(high)}h8` }),
    svg("circle", { class: "frontier-hit", cx: x, cy: y(row.share), r: 13 }),
    svg("path", { class: "frontier-mark", d: path, transform: `translate(${x} ${y(row.share)})` }),
  );
  return group;
}

/** One point is in the order of the tab key; arrows go to the others. */
function reachable(chart: SVGSVGElement, rows: readonly Row[], { chosen }: ChartOptions): void {
  const points = [...chart.querySelectorAll<SVGGElement>(".frontier-point")];
  const go = (index: number, focus: boolean): void => {
    const [point, row] = [points[index], rows[index]];
    if (point === undefined || row === undefined) return;
    for (const other of points) {
      other.setAttribute("tabindex", other === point ? "0" : "-1");
      other.classList.toggle("is-chosen", other === point);
    }
    point.parentNode?.append(point); // above its neighbours
    if (focus) point.focus();
    chosen(row);
  };
  points.forEach((point, index) => {
    point.addEventListener("pointerenter", () => { go(index, false); });
    point.addEventListener("click", () => { go(index, true); });
    point.addEventListener("focus", () => { if (!point.classList.contains("is-chosen")) go(index, false); });
    point.addEventListener("keydown", (event) => {
      const step = ({ ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 } as Record<string, number>)[event.key];
      const next = event.key === "Home" ? 0 : event.key === "End" ? points.length - 1 : step === undefined ? null : Math.max(0, Math.min(points.length - 1, index + step));
      if (next === null) return;
      event.preventDefault();
      go(next, true);
    });
  });
  points[0]?.setAttribute("tabindex", "0");
}
