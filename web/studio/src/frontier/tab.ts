/** What privacy costs on a map: every way to send a picture, its use against its leak. */

import "./frontier.css";
import { make, thousands } from "../../../app/src/dom.ts";
import { select } from "../parts.ts";
import { Settings } from "../settings.ts";
import type { Mount, Shell } from "../shell.ts";
import { drawChart } from "./chart.ts";
import { inOrder, markOf } from "./marks.ts";
import { readOutcomes, textOf, type Head } from "./outcomes.ts";
import { LEAKS, rowsOf, said, type Leak, type Row } from "./rows.ts";
import { svg } from "./svg.ts";
import { FAMILIES, percent, sentencesOf, verdictOf } from "./words.ts";

const EXAMPLES = { strecha: "Two buildings outdoors (Strecha)", room: "A desk indoors (TUM)" } as const;
type Example = keyof typeof EXAMPLES;
const AXES: readonly (readonly [Leak, string])[] = [
  ["picture", "E of a whole picture"], ["object", "advantage for a small object"], ["ssim", "what the best attack paints"],
];
const MEANS = "E limits what all words of a picture may give away together: 0 is nothing, lower is more private. It adds up over hundreds of keypoints, hence the large numbers; the leak can also be measured for a small object, or as what an attack paints.";
const HINT = "Point at a dot, or reach the chart with the Tab key and go from dot to dot with the arrow keys.";

class FrontierTab {
  readonly #shell: Shell;
  readonly #verdict = make("p", { class: "verdict", id: "frontier-verdict", role: "status" });
  readonly #about = make("p", { class: "small" });
  readonly #missing = make("ul", { class: "warning", id: "frontier-missing", hidden: "" });
  readonly #chart = make("div", { class: "frontier-holder" });
  readonly #reading = make("div", { class: "guarantee frontier-reading", id: "frontier-reading", "aria-live": "polite" }, make("p", {}, HINT));
  readonly #legend = make("fieldset", { class: "frontier-legend" });
  readonly #table = make("div", { class: "frontier-table" });
  readonly #axis = select("frontier-axis", "Leak, measured by", AXES);
  readonly #data = select("frontier-data", "Outcomes of", [...Object.entries(EXAMPLES), ["", "a file of yours"]]);
  #rows: readonly Row[] = [];
  #head: Head | null = null;
  #hidden = new Set<string>();
  #width = 0;

  constructor(container: HTMLElement, shell: Shell) {
    this.#shell = shell;
    const file = make("input", { class: "quiet", id: "frontier-file", type: "file", accept: ".jsonl,.gz,.json" });
    file.addEventListener("change", () => {
      const [chosen] = file.files ?? [];
      file.value = "";
      if (chosen !== undefined) void this.open(chosen);
    });
    this.#axis.input.addEventListener("change", () => {
      shell.setSettings({ x: this.#axis.input.value });
      this.#draw();
    });
    this.#data.input.addEventListener("change", () => {
      if (this.#data.input.value === "") file.click();
      else void this.example(this.#data.input.value as Example);
    });
    container.append(
      make("section", { class: "card answer", "aria-labelledby": "frontier-title" },
        make("h2", { id: "frontier-title" }, "What does privacy cost?"), this.#verdict, make("p", {}, MEANS), this.#about, this.#missing),
      make("section", { class: "card", "aria-labelledby": "frontier-chart-title" },
        make("h2", { id: "frontier-chart-title" }, "Found against leaked"),
        make("div", { class: "fields" }, this.#data.field, this.#axis.field),
        make("div", { class: "buttons" }, make("label", { class: "button plain", for: "frontier-file" }, "Open an outcome file"), file),
        this.#chart, this.#reading,
        make("p", { class: "small" }, "Up is better, left is more private. Bars are 95 % intervals; the dashed line is the front: nothing shown leaks less and finds more."),
        this.#legend),
      make("details", { class: "card more" }, make("summary", {}, "All ways as a table"), this.#table),
      make("p", { class: "small" }, "Measured by ", make("code", {}, "sfumato experiment frontier --data SCENE"), ", whose folder then holds outcomes.jsonl. Queries are drawn with known seeds, for measuring and not for sending."),
    );
    shell.onDrop(this.#chart, ({ files: [dropped] }) => { if (dropped !== undefined) void this.open(dropped); });
    const resized = new ResizeObserver(() => {
      const width = Math.round(this.#chart.clientWidth);
      if (width > 0 && width !== this.#width) this.#draw();
    });
    resized.observe(this.#chart);
    shell.left.addEventListener("abort", () => { resized.disconnect(); });
  }

  /** What an address names. */
  async show(settings: URLSearchParams): Promise<void> {
    const read = new Settings(settings);
    this.#axis.input.value = read.choice("x", ...LEAKS);
    this.#hidden = new Set((settings.get("hide") ?? "").split(";").filter((name) => name !== ""));
    const data = read.choice<Example>("data", "strecha", "room");
    this.#data.input.value = data;
    if (read.complaint !== "") this.#shell.say(read.complaint);
    await this.example(data);
  }

  async example(name: Example): Promise<void> {
    const bytes = await this.#shell.run("Fetching outcomes", (work) => this.#shell.fetchAsset(`examples/frontier/${name}.jsonl.gz`, work));
    if (bytes === undefined) return;
    this.#shell.setSettings({ data: name });
    await this.open(new Blob([bytes]), name);
  }

  async open(file: Blob, example?: Example): Promise<void> {
    await this.#shell.run("Reading outcomes", async () => {
      const { text, isCut } = await textOf(file);
      const read = readOutcomes(text, isCut);
      const { rows, unfinished } = rowsOf(read);
      const missing = [...read.missing];
      if (unfinished > 0) missing.push(`${thousands(unfinished)} ${unfinished === 1 ? "way was" : "ways were"} not tried on all ${thousands(read.head.queries.length)} queries and ${unfinished === 1 ? "is" : "are"} not shown.`);
      if (rows.length === 0) missing.push("No way is whole: there is nothing to draw yet. Let the experiment run on.");
      [this.#rows, this.#head] = [rows, read.head];
      if (example === undefined) {
        this.#data.input.value = "";
        this.#shell.setSettings({ data: null });
      }
      this.#missing.replaceChildren(...missing.map((sentence) => make("li", {}, sentence)));
      this.#missing.hidden = missing.length === 0;
      this.#verdict.textContent = rows.length === 0 ? "There is nothing to draw yet." : verdictOf(rows);
      const { data, images, mostKeypoints, points, queries, within } = read.head;
      this.#about.textContent = `${data}: a map of ${thousands(images)} images and ${thousands(points)} points, ${thousands(queries.length)} queries of at most ${thousands(mostKeypoints)} keypoints; localized means within ${within}.`;
      this.#reading.replaceChildren(make("p", {}, HINT));
      this.#showLegend();
      this.#showTable();
      this.#draw();
      return Promise.resolve();
    });
  }

  #visible(): readonly Row[] {
    return this.#rows.filter(({ family }) => !this.#hidden.has(family));
  }

  #draw(): void {
    const head = this.#head;
    this.#width = Math.round(this.#chart.clientWidth);
    if (head === null || this.#width < 40) return;
    const rows = this.#visible();
    if (rows.length === 0) {
      this.#chart.replaceChildren(make("p", {}, "Nothing is chosen below; tick a mechanism."));
      return;
    }
    this.#chart.replaceChildren(drawChart(rows, {
      leak: this.#axis.input.value as Leak,
      width: this.#width,
      describe: (row) => sentencesOf(row, head).join(" "),
      chosen: (row) => {
        const [first = "", ...rest] = sentencesOf(row, head);
        this.#reading.replaceChildren(make("p", {}, make("strong", {}, first)), ...rest.map((text) => make("p", {}, text)));
      },
    }));
  }

  /** The legend is the filter. */
  #showLegend(): void {
    const items = inOrder(this.#rows.map(({ family }) => family)).map((family, i) => {
      const input = make("input", { type: "checkbox", id: `family-${i}` });
      input.checked = !this.#hidden.has(family);
      input.addEventListener("change", () => {
        if (input.checked) this.#hidden.delete(family);
        else this.#hidden.add(family);
        this.#shell.setSettings({ hide: this.#hidden.size === 0 ? null : [...this.#hidden].join(";") });
        this.#draw();
      });
      const { className, path } = markOf(family);
      const mark = svg("svg", { viewBox: "-8 -8 16 16", class: `frontier-key ${className}`, "aria-hidden": "true" }, svg("path", { class: "frontier-mark", d: path }));
      return make("label", { class: "frontier-item", for: `family-${i}` }, input, mark, FAMILIES[family] ?? family);
    });
    this.#legend.replaceChildren(make("legend", {}, "Mechanisms that are shown"), ...items);
  }

  #showTable(): void {
    const names = ["sent", "localized", "E of a picture, δ = 10⁻⁶", "advantage, object of ten", "SSIM of the best attack"];
    const cell = (name: string, text: string): HTMLElement => make("td", { "data-name": name }, text);
    const rows = this.#rows.map((row) => make("tr", {}, ...[
      `${FAMILIES[row.family] ?? row.family}: ${said(row.way)}`,
      `${percent(row.share)} (${Math.round(100 * row.interval[0])}–${Math.round(100 * row.interval[1])})`,
      row.picture === null ? "no promise" : row.picture.toLocaleString("en", { maximumFractionDigits: 0 }),
      row.object === null ? "no promise" : row.object.toFixed(3),
      row.ssim === null ? "not attacked" : row.ssim.toFixed(3),
    ].map((text, i) => cell(names[i] ?? "", text))));
    this.#table.replaceChildren(make("table", {},
      make("caption", { class: "small" }, "ε is per descriptor. Not protected: positions of keypoints, their number, the size of the picture, the camera, the pose."),
      make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...rows)));
  }
}

export const mount: Mount = async (container, settings, shell) => {
  const tab = new FrontierTab(container, shell);
  await tab.show(settings);
  return { update: (changed) => void tab.show(changed) };
};
