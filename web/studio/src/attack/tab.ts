/** What a curious server could paint: from raw features, from lifted ones, and from words at ε. */

import { make, short, thousands } from "../../../app/src/dom.ts";
import { ChoiceControls } from "../choice.ts";
import { Chooser } from "../chooser.ts";
import type { Made } from "../engine/messages.ts";
import type { Example } from "../examples.ts";
import { button, saveFile } from "../parts.ts";
import { session, type Shown } from "../session.ts";
import type { Mounted, Shell } from "../shell.ts";
import { scaledPositions } from "./encode.ts";
import { readLifted, type Lifted } from "./lifted.ts";
import { NOTES, PAINTS_FOR_YOU } from "./notes.ts";
import type { Sent } from "./painter.ts";
import { painting, type PainterFacts } from "./painting.ts";
import { Compare, Shot } from "./pictures.ts";
import { reportPage, type ReportRow } from "./report.ts";
import { shrunk, ssim } from "./similarity.ts";
import { verdict, type Words } from "./verdict.ts";
import type { Painted } from "./worker.ts";

const SIDE = 256; // pixels of the longer side of a painting
const SMALLEST = 16;
const PLAIN_ROW = 132; // bytes of a raw keypoint: its position and 128 numbers
const PLAIN_HEAD = 104;

/** The photograph at the size of the paintings. */
interface Small {
  readonly planes: Float32Array;
  readonly width: number;
  readonly height: number;
  /** SSIM of its mean colour: what anybody can paint. */
  readonly flat: number;
}

class AttackTab {
  readonly #shell: Shell;
  readonly #controls: ChoiceControls;
  readonly #chooser: Chooser;
  readonly #verdict = make("div", { id: "verdict", role: "status" }, make("p", { class: "verdict" }, PAINTS_FOR_YOU));
  readonly #guarantee = make("p", { class: "small", id: "guarantee" });
  readonly #shots = new Map([
    ["photo", new Shot("photo", "The photograph")],
    ["raw", new Shot("raw", "From raw features")],
    ["lifted", new Shot("lifted", "Lifted, and attacked")],
    ["words", new Shot("words", "From words")],
  ]);
  readonly #compare: Compare;
  readonly #table = make("tbody");
  readonly #made = make("p", { class: "small", id: "painter-facts" });
  readonly #report = button("Save the report", "plain", () => { this.#save(); });
  #rows: ReportRow[] = [];
  #sentences: readonly string[] = [];
  #facts: PainterFacts | null = null;
  #small: Small | null = null;
  #raw: { readonly name: string; readonly painted: Painted; readonly count: number; readonly refines: boolean } | null = null;
  #lifted: { readonly of: Lifted; readonly painted: Painted } | null = null;
  #words: { readonly made: Made; readonly painted: Painted } | null = null;
  #running: AbortController | null = null;

  constructor(container: HTMLElement, shell: Shell) {
    this.#shell = shell;
    this.#controls = new ChoiceControls(shell, () => void this.#paint(), ["hides more", "paints more"]);
    const names = [["raw", "raw features"], ["words", "words at ε"], ["lifted", "lifted, and attacked"], ["photo", "the photograph"]] as const;
    this.#compare = new Compare(this.#shots, names, "raw", "words");
    const shots = make("div", { class: "shots", id: "shots" }, ...[...this.#shots.values()].map(({ element }) => element));
    this.#chooser = new Chooser(shell, shots, (source) => void this.#choose(source));
    const heads = ["what is sent", "guarantee", "bytes", "guessed right", "SSIM"];
    const table = make("table", { id: "figures" }, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))), this.#table);
    const print = button("Print", "plain", () => { window.print(); });
    this.#report.id = "report-button";
    this.#report.disabled = true;
    container.append(
      make("section", { class: "card answer", "aria-label": "Verdict" }, this.#verdict),
      make("section", { class: "card", "aria-labelledby": "shots-title" }, make("h2", { id: "shots-title" }, "What a curious server paints"), shots, this.#chooser.element, this.#controls.epsilon.field, ...this.#controls.others, this.#guarantee),
      make("section", { class: "card", "aria-labelledby": "compare-title" }, make("h2", { id: "compare-title" }, "Slide between them"), this.#compare.element),
      make("section", { class: "card", "aria-labelledby": "figures-title" }, make("h2", { id: "figures-title" }, "The figures"), table, make("div", { class: "buttons" }, this.#report, print), this.#made, ...NOTES.map((note) => make("p", { class: "small" }, note))),
    );
  }

  update(settings: URLSearchParams): void {
    this.#controls.read(settings);
    void this.#open(() => this.#controls.photo);
  }

  async #choose(source: Blob | Example): Promise<void> {
    const shown = await this.#shell.run("Finding keypoints", (work) => session.open(source, this.#shell, work));
    if (shown === undefined) return;
    this.#controls.photo = shown.example?.name ?? "";
    await this.#open(() => this.#controls.photo);
  }

  async #open(photo: () => string): Promise<void> {
    const shown = await this.#shell.run("Finding keypoints", (work) => session.openNamed(photo(), this.#shell, work));
    if (shown === undefined) return;
    this.#use(shown);
    const sizes = await this.#shell.run("Loading the public words, once (9 MB)", (work) => session.words(this.#shell, work));
    if (sizes === undefined) return;
    this.#controls.offerWords(sizes);
    const facts = await this.#shell.run("Loading the attacker's networks, once (14 MB)", (work) => painting.open(this.#shell, work));
    if (facts === undefined) {
      this.#verdict.replaceChildren(make("p", { class: "verdict" }, "Nothing is painted: the networks are not loaded."), this.#again());
      return;
    }
    this.#facts = facts;
    await this.#paint();
  }

  #again(): HTMLButtonElement {
    return button("Load the networks", "plain", () => void this.#open(() => this.#controls.photo));
  }

  #use({ example, features, taken }: Shown): void {
    this.#chooser.mark(example);
    const factor = Math.min(1, SIDE / Math.max(features.width, features.height));
    const [width, height] = [features.width, features.height].map((side) => Math.max(SMALLEST, Math.round(side * factor))) as [number, number];
    const planes = shrunk(taken.picture.data, [features.width, features.height], [width, height]);
    this.#small = { planes, width, height, flat: ssim(planes, meanColour(planes), width, height) };
    const photo = this.#shots.get("photo");
    photo?.show(planes, width, height);
    photo?.tell("The photograph", null, example === null ? "yours; it stays in this tab" : example.credit);
    this.#raw = this.#lifted = this.#words = null;
    for (const name of ["raw", "lifted", "words"]) this.#shots.get(name)?.clear(width, height);
    const lifted = this.#shots.get("lifted")?.element;
    if (lifted !== undefined) lifted.hidden = example === null;
    this.#compare.update();
  }

  /** Paint with the settings of now; an older painting is given up. */
  async #paint(): Promise<void> {
    const [{ shown }, small] = [session, this.#small];
    if (shown === null || small === null || this.#facts === null) return;
    this.#running?.abort();
    const running = (this.#running = new AbortController());
    this.#shell.left.addEventListener("abort", () => { running.abort(); });
    const { signal } = running;
    this.#shots.get("words")?.fade();
    try {
      const made = await session.engine.protect({ choice: this.#controls.value, lens: shown.lens, counted: false });
      if (signal.aborted) return;
      if (made === null) {
        this.#verdict.replaceChildren(make("p", { class: "verdict" }, "Nothing leaves, so there is nothing to paint from."));
        return;
      }
      // The first painting that somebody sees is the one without protection; it grows better when nobody waits.
      const raw = this.#paintRaw.bind(this, made, shown, small, signal);
      if (this.#raw === null) await raw(false);
      await this.#paintWords(made, shown, small, signal);
      await raw(true);
      await this.#paintLifted(shown, small, signal);
    } catch (error) {
      if (!signal.aborted) this.#shell.fail(error);
    }
  }

  async #paintWords(made: Made, shown: Shown, small: Small, signal: AbortSignal): Promise<void> {
    await this.#one("words", sent(made.release.keypoints, made.looks, shown, small, { trust: made.cost.trueWordSent ?? 1 }), signal, (painted) => {
      this.#words = { made, painted };
    });
  }

  async #paintRaw({ kept }: Made, shown: Shown, small: Small, signal: AbortSignal, refines: boolean): Promise<void> {
    const { boxes, density, maxKeypoints, spread } = this.#controls.value;
    const name = JSON.stringify([boxes, density, maxKeypoints, spread]);
    if (this.#raw?.name === name && this.#raw.painted.isDone && (this.#raw.refines || !refines)) return;
    if (this.#raw?.name !== name) this.#shots.get("raw")?.fade();
    await this.#one("raw", sent(kept.keypoints, kept.descriptors, shown, small, { refines }), signal, (painted) => {
      this.#raw = { name, painted, count: kept.scores.length, refines };
    });
  }

  async #paintLifted(shown: Shown, small: Small, signal: AbortSignal): Promise<void> {
    if (shown.example === null || (this.#lifted !== null && this.#lifted.painted.isDone)) return;
    const of = await readLifted(shown.example, this.#shell, signal);
    await this.#one("lifted", sent(of.keypoints, of.descriptors, shown, small, { refines: true }), signal, (painted) => {
      this.#lifted = { of, painted };
    });
  }

  async #one(name: string, what: Sent, signal: AbortSignal, keep: (painted: Painted) => void): Promise<void> {
    const small = this.#small;
    if (signal.aborted || small === null) return;
    await painting.paint(what, small.planes, signal, (painted) => {
      keep(painted);
      const shot = this.#shots.get(name);
      shot?.show(painted.planes, small.width, small.height);
      shot?.element.setAttribute("data-looks", painted.isDone ? "all" : String(painted.looks));
      shot?.element.toggleAttribute("data-refined", what.refines && painted.isDone);
      shot?.element.setAttribute("data-milliseconds", painted.milliseconds.toFixed(0));
      this.#tell(small);
      this.#compare.update();
    });
  }

  #tell(small: Small): void {
    const [raw, words] = [this.#raw, this.#words];
    const read = (painted: Painted): { ssim: number; flat: number } => ({ ssim: painted.ssim, flat: small.flat });
    const told: Words | null = words === null ? null : { ...read(words.painted), epsilon: words.made.release.epsilon, right: words.made.right / Math.max(1, words.made.cost.keypoints) };
    this.#sentences = verdict(raw === null ? null : read(raw.painted), told);
    const [first = "", ...rest] = this.#sentences;
    this.#verdict.replaceChildren(make("p", { class: "verdict" }, first), ...rest.map((text) => make("p", {}, text)));
    this.#rows = [this.#row("photo", "The photograph", "nothing: it stays here", "–", "–", "–", "1")];
    if (raw !== null) this.#rows.push(this.#rawRow(raw.painted, raw.count));
    if (this.#lifted !== null) this.#rows.push(this.#liftedRow(this.#lifted));
    if (told !== null && words !== null) this.#rows.push(this.#wordsRow(words.made, words.painted, told));
    this.#table.replaceChildren(...this.#rows.slice(1).map((row) => make("tr", {}, ...cells(row))), flatRow(small.flat));
    this.#report.disabled = false;
    const { bytes = 0, readsWords, sha256 = "", step } = this.#facts ?? {};
    this.#made.textContent = `Painted here at ${small.width} × ${small.height} pixels by sift-raw.onnx, ${thousands(bytes)} bytes${step == null ? "" : `, ${thousands(step)} training steps`}, sha256 ${sha256.slice(0, 16)}….${readsWords === true ? " It learned from raw descriptors and from words." : " It learned from raw descriptors, not from words."}`;
  }

  #rawRow(painted: Painted, count: number): ReportRow {
    const bytes = PLAIN_HEAD + PLAIN_ROW * count;
    this.#shots.get("raw")?.tell("From raw features", painted.ssim, "what most systems send: nothing hidden, no guarantee", alike(painted));
    return this.#row("raw", "From raw features", "raw descriptors", "none", thousands(bytes), "–", painted.ssim.toFixed(3));
  }

  #liftedRow({ of, painted }: { readonly of: Lifted; readonly painted: Painted }): ReportRow {
    const right = `${Math.round(100 * of.recovered)} %`;
    this.#shots.get("lifted")?.tell("Lifted, and attacked", painted.ssim, `each descriptor hidden in a flat of ${of.dimension} dimensions, no guarantee; an attack in Python got ${right} back`, alike(painted));
    return this.#row("lifted", "Lifted to subspaces, and attacked", `subspaces, m = ${of.dimension}`, "none", thousands(of.bytes), right, painted.ssim.toFixed(3));
  }

  #wordsRow({ cost, release }: Made, painted: Painted, told: Words): ReportRow {
    const right = `${Math.round(100 * told.right)} %`;
    const title = `From words at ε = ${short(release.epsilon)} per keypoint`;
    this.#shots.get("words")?.tell(title, painted.ssim, `what sfumato sends; ${right} of words guessed right`, alike(painted));
    this.#guarantee.textContent = `ε is per keypoint; ${thousands(cost.keypoints)} keypoints add up to N·ε = ${thousands(cost.epsilonPerPicture ?? 0)} per picture at most. Not protected at any ε: ${cost.notProtected.join(", ")}.`;
    const limit = `ε = ${short(release.epsilon)} per keypoint, ${thousands(cost.epsilonPerPicture ?? 0)} per picture`;
    return this.#row("words", title, "random words", limit, thousands(cost.bytes), right, painted.ssim.toFixed(3));
  }

  #row(shot: string, name: string, what: string, guarantee: string, bytes: string, right: string, near: string): ReportRow {
    const canvas = this.#shots.get(shot)?.canvas;
    return { name, sent: what, guarantee, bytes, right, ssim: near, get picture() { return canvas?.toDataURL("image/jpeg", 0.9) ?? ""; } };
  }

  #save(): void {
    const notes = [this.#guarantee.textContent, this.#made.textContent, ...NOTES];
    saveFile("what-a-server-would-see.html", reportPage({ verdict: this.#sentences, rows: this.#rows, notes, version: __PAGE_VERSION__ }), "text/html");
  }
}

function sent(points: Float32Array, descriptors: Uint8Array, { features }: Shown, { height, width }: Small, { refines = false, trust = 1 }: Partial<Sent>): Sent {
  return { descriptors, refines, trust, keypoints: scaledPositions(points, [features.width, features.height], [width, height]), width, height };
}

/** How near a painting comes, for a caption. */
function alike({ ssim: near }: Painted): string {
  return `likeness ${near.toFixed(3)} of 1 (SSIM)`;
}

function meanColour(planes: Float32Array): Float32Array {
  const area = planes.length / 3;
  const means = [0, 1, 2].map((colour) => planes.subarray(colour * area, (colour + 1) * area).reduce((sum, value) => sum + value, 0) / area);
  return planes.map((_, i) => means[Math.floor(i / area)] ?? 0);
}

function cells({ bytes, guarantee, right, sent: what, ssim: near }: ReportRow): HTMLElement[] {
  const names = ["what is sent", "guarantee", "bytes", "guessed right", "SSIM"];
  return [what, guarantee, bytes, right, near].map((value, i) => make("td", { "data-name": names[i] ?? "" }, value));
}

function flatRow(flat: number): HTMLElement {
  return make("tr", {}, ...cells({ name: "", sent: "one flat colour, to compare", guarantee: "–", bytes: "–", right: "–", ssim: flat.toFixed(3), picture: "" }));
}

export function mount(container: HTMLElement, settings: URLSearchParams, shell: Shell): Promise<Mounted> {
  const tab = new AttackTab(container, shell);
  tab.update(settings);
  return Promise.resolve(tab);
}
