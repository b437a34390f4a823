/** What leaves a photograph, live with every setting; and the release as a file. */

import type { Features } from "@sfumato/device";
import { Boxes } from "../../../app/src/boxes.ts";
import { make, showFacts, thousands } from "../../../app/src/dom.ts";
import { Stage } from "../../../app/src/stage.ts";
import { ChoiceControls } from "../choice.ts";
import { Chooser } from "../chooser.ts";
import type { Made } from "../engine/messages.ts";
import type { Example } from "../examples.ts";
import { button } from "../parts.ts";
import { session, type Shown } from "../session.ts";
import type { Mounted, Shell } from "../shell.ts";
import { drawLeaving, figure } from "../stars.ts";
import { ReleaseCard } from "./release.ts";
import { guaranteeOf, inShort, leavesSentence, NOTHING_LEFT } from "./words.ts";

const NO_DETECTOR =
  "Draw a box over what must not be described at all, a face for instance. No detector of faces runs in this page: what you do not mark is not hidden, and an empty box tells that something was there.";

class ProtectTab {
  readonly #shell: Shell;
  readonly #controls: ChoiceControls;
  readonly #chooser: Chooser;
  readonly #stage: Stage;
  readonly #boxes: Boxes;
  readonly #release: ReleaseCard;
  readonly #verdict = make("p", { class: "verdict", role: "status", id: "verdict" }, "Looking at the photograph…");
  readonly #inShort = make("div", { id: "in-short" });
  readonly #found = make("p", { class: "small", id: "found" });
  readonly #leaving = make("div", { id: "leaving-picture" });
  readonly #facts = make("dl", { class: "facts", id: "facts" });
  readonly #guarantee = make("div", { class: "guarantee", id: "guarantee" });
  readonly #frame: HTMLElement;
  #features: Features | null = null;
  #asking = false;
  #again = false;

  constructor(container: HTMLElement, shell: Shell) {
    this.#shell = shell;
    const [pixels, marks] = [make("canvas", { role: "img", "aria-label": "The photograph with its keypoints" }), make("canvas", { "aria-hidden": "true" })];
    const layer = make("div", { class: "boxes", role: "group", "aria-label": "Hidden regions" });
    this.#frame = make("div", { class: "picture-frame", hidden: "" }, pixels, marks, layer);
    const area = make("div", { class: "stage", id: "stage" }, this.#frame);
    this.#stage = new Stage(this.#frame, pixels, marks);
    this.#boxes = new Boxes(layer, () => {
      session.boxes = this.#boxes.all;
      this.#refresh();
    });
    this.#chooser = new Chooser(shell, area, (source) => void this.#choose(source));
    this.#controls = new ChoiceControls(shell, () => { this.#refresh(); });
    this.#release = new ReleaseCard(shell, () => this.#controls.value);
    const hide = button("Hide a region", "plain", () => { this.#boxes.add(); });
    const device = make(
      "section",
      { class: "side device", "aria-labelledby": "device-title" },
      make("h2", { id: "device-title" }, "Stays on this device"),
      area,
      this.#chooser.element,
      this.#found,
      this.#controls.epsilon.field,
    );
    const server = make(
      "section",
      { class: "side server", "aria-labelledby": "server-title" },
      make("h2", { id: "server-title" }, "All that a server gets"),
      this.#leaving,
      this.#facts,
    );
    const less = make(
      "section",
      { class: "side device", "aria-labelledby": "less-title" },
      make("h2", { id: "less-title" }, "Give less"),
      ...this.#controls.others,
      make("div", { class: "buttons" }, hide),
      make("p", { class: "small" }, NO_DETECTOR),
    );
    const promised = make("section", { class: "side server", "aria-labelledby": "promise-title" }, make("h2", { id: "promise-title" }, "What is promised"), this.#guarantee);
    container.append(
      make("section", { class: "card answer", "aria-label": "In short" }, this.#verdict, this.#inShort),
      make("div", { class: "sides four" }, device, server, less, promised),
      this.#release.element,
    );
  }

  update(settings: URLSearchParams): void {
    this.#controls.read(settings);
    void this.#open();
  }

  /** The photograph of the address; then the words, which are larger than the page. */
  async #open(): Promise<void> {
    const shown = await this.#shell.run("Finding keypoints", (work) => session.openNamed(this.#controls.photo, this.#shell, work));
    if (shown !== undefined) await this.#use(shown);
  }

  async #choose(source: Blob | Example): Promise<void> {
    this.#shell.say("");
    const shown = await this.#shell.run("Finding keypoints", (work) => session.open(source, this.#shell, work));
    if (shown === undefined) return;
    this.#controls.photo = shown.example?.name ?? "";
    await this.#use(shown);
  }

  async #use(shown: Shown): Promise<void> {
    const { height, width } = shown.features;
    this.#features = shown.features;
    this.#frame.hidden = false;
    this.#stage.show(shown.taken.picture);
    this.#stage.mark(shown.features, shown.features);
    this.#boxes.reset(width, height, session.boxes);
    this.#chooser.mark(shown.example);
    this.#found.textContent = describe(shown);
    const sizes = await this.#shell.run("Loading the public words, once (9 MB)", (work) => session.words(this.#shell, work));
    if (sizes === undefined) {
      this.#verdict.textContent = "The public words are missing, so nothing can be protected here.";
      return;
    }
    this.#controls.offerWords(sizes);
    this.#refresh();
  }

  /** A rehearsal with the settings of now; while one runs, only the last wish counts. */
  #refresh(): void {
    this.#release.forget();
    if (this.#asking) {
      this.#again = true;
      return;
    }
    this.#asking = true;
    void this.#rehearse().finally(() => {
      this.#asking = false;
      if (this.#again) {
        this.#again = false;
        this.#refresh();
      }
    });
  }

  async #rehearse(): Promise<void> {
    const { shown } = session;
    if (shown === null || this.#features === null) return;
    try {
      const made = await session.engine.protect({ choice: this.#controls.value, lens: shown.lens, counted: false });
      if (!this.#shell.left.aborted) this.#show(made, shown);
    } catch (error) {
      this.#shell.fail(error);
    }
  }

  #show(made: Made | null, shown: Shown): void {
    this.#release.offer(made !== null);
    if (made === null) {
      this.#verdict.textContent = shown.features.scores.length === 0 ? NOTHING_LEFT.blank : NOTHING_LEFT.hidden;
      this.#stage.mark(shown.features, { ...shown.features, scores: new Float32Array() });
      this.#leaving.replaceChildren();
      showFacts(this.#facts, []);
      this.#guarantee.replaceChildren();
      this.#inShort.replaceChildren();
      return;
    }
    const { cost, kept, looks, release } = made;
    this.#stage.mark(shown.features, kept);
    this.#verdict.textContent = leavesSentence(cost, shown.features);
    this.#inShort.replaceChildren(...inShort(cost));
    const label = `${cost.keypoints} positions with one word each; some of the words are drawn as small stars`;
    const caption =
      `Every dot that would leave; where there is room, the small pattern that its word stands for, true or not. ` +
      `Dots lie exactly where they were: outlines can show. This is a rehearsal, drawn anew with every setting and seen by nobody but you.`;
    this.#leaving.replaceChildren(figure(drawLeaving(release.keypoints, looks, { ...shown.features, label }), caption));
    this.#leaving.dataset["milliseconds"] = made.milliseconds.toFixed(1);
    showFacts(this.#facts, [
      ["keypoints", thousands(cost.keypoints)],
      ["bytes", thousands(cost.bytes)],
      ["words to choose from", thousands(cost.dictionaryWords ?? 0)],
      ["words that happen to be true this time", `${thousands(made.right)} of ${thousands(cost.keypoints)}`],
    ]);
    this.#guarantee.replaceChildren(...guaranteeOf(cost));
  }
}

function describe({ example, features, taken }: Shown): string {
  const count = features.scores.length;
  const found = count === 0 ? "No keypoint was found: it is blank or blurred." : `${thousands(count)} keypoints found here: circles are those that would be sent.`;
  const small = taken.fullWidth === features.width ? "" : ` Made smaller to ${features.width} × ${features.height} pixels first.`;
  return `${found}${small} ${example === null ? "Your photograph is not uploaded." : `Photograph: ${example.credit}.`}`;
}

export function mount(container: HTMLElement, settings: URLSearchParams, shell: Shell): Promise<Mounted> {
  const tab = new ProtectTab(container, shell);
  tab.update(settings);
  return Promise.resolve(tab);
}
