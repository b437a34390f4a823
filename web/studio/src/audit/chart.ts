/** The measured interval against the number of draws: it tightens around what is true. */

import { figure, type Look } from "./audit.ts";

const NAMESPACE = "http://www.w3.org/2000/svg";
const [LEFT, TOP, BOTTOM, HEIGHT] = [56, 20, 250, 300];
const EDGE = 36; // the last number of draws stands around the end of the axis

/** An SVG of all looks so far, as wide as its place; `claimed` is the line that must stay inside. */
export function drawChart(looks: readonly Look[], claimed: number, most: number, room: number): SVGSVGElement {
  const width = Math.max(260, Math.round(room));
  const right = width - EDGE;
  const svg = document.createElementNS(NAMESPACE, "svg");
  const last = looks.at(-1);
  attributes(svg, { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img" });
  svg.setAttribute("aria-label", last === undefined ? "No draws yet" : `After ${last.draws.toLocaleString("en")} draws ε is between ${figure(last.low)} and ${figure(last.high)}; ${figure(claimed)} is claimed`);
  const [first, end] = [Math.log10(looks[0]?.draws ?? 10_000), Math.log10(Math.max(most, 100_000))];
  const reach = spread(looks, claimed);
  const x = (draws: number): number => LEFT + ((right - LEFT) * (Math.log10(draws) - first)) / (end - first);
  const y = (value: number): number => BOTTOM - ((BOTTOM - TOP) * (Math.min(Math.max(value, claimed - reach), claimed + reach) - claimed + reach)) / (2 * reach);
  for (const step of [-1, -0.5, 0, 0.5, 1]) {
    const value = claimed + step * reach;
    svg.append(part("line", { class: "grid", x1: LEFT, x2: right, y1: y(value), y2: y(value) }), label(LEFT - 8, y(value) + 4, figure(value), "end"));
  }
  for (let power = Math.ceil(first); power <= end; power++) svg.append(label(x(10 ** power), BOTTOM + 22, (10 ** power).toLocaleString("en"), "middle"));
  svg.append(label((LEFT + right) / 2, HEIGHT - 6, "draws per input", "middle"));
  if (looks.length > 0) {
    const there = looks.map(({ draws, high }) => `${x(draws).toFixed(1)} ${y(high).toFixed(1)}`);
    const back = [...looks].reverse().map(({ draws, low }) => `${x(draws).toFixed(1)} ${y(low).toFixed(1)}`);
    svg.append(part("path", { class: last?.isBroken === true ? "band is-broken" : "band", d: `M${[...there, ...back].join("L")}Z` }));
  }
  svg.append(part("line", { class: "raw", x1: LEFT, x2: right, y1: y(claimed), y2: y(claimed) }), label(right, y(claimed) - 7, `claimed: ${figure(claimed)}`, "end"));
  return svg;
}

/** How far from the claim the drawing reaches: a third look and later ones fit. */
function spread(looks: readonly Look[], claimed: number): number {
  const ends = looks.slice(1).flatMap(({ high, low }) => [Math.abs(high - claimed), Math.abs(low - claimed)]).filter(Number.isFinite);
  return Math.max(0.05, ...ends) * 1.1;
}

function label(x: number, y: number, content: string, anchor: string): SVGElement {
  const made = part("text", { x, y, "text-anchor": anchor });
  made.textContent = content;
  return made;
}

function part(name: string, values: Record<string, string | number>): SVGElement {
  const made = document.createElementNS(NAMESPACE, name);
  attributes(made, values);
  return made;
}

function attributes(element: Element, values: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(values)) element.setAttribute(name, String(value));
}
