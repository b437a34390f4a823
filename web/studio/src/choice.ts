/** What a person chose about a release, in the address and in controls; Protect and Attack share it. */

import { make, thousands } from "../../app/src/dom.ts";
import type { Choice } from "./engine/messages.ts";
import { EXAMPLES } from "./examples.ts";
import { epsilonSlider, select } from "./parts.ts";
import { session } from "./session.ts";
import { Settings } from "./settings.ts";
import type { Shell } from "./shell.ts";

/** As many keypoints as the painter was trained with at most. */
export const USUAL = { epsilon: 8, maxKeypoints: 1000 } as const;
const MOST = 20_000;
const COUNTS = ["100", "200", "300", "500", "1000", "2000"] as const;

/** Controls of a release, kept in step with the address. */
export class ChoiceControls {
  readonly epsilon: ReturnType<typeof epsilonSlider>;
  readonly #keypoints = select("keypoints", "Keypoints, at most", [...COUNTS.map((count) => [count, thousands(Number(count))] as const), [String(MOST), "all of them"]]);
  readonly #words = select("words", "Words |K|", [["", "as ε has it"]]);
  readonly #spread = select("spread", "Chosen by", [["strength", "strength"], ["spread", "spread over the picture"]]);
  readonly #density = select("density", "At most, per 80 × 80 pixels", [["", "any number"], ...["2", "5", "10", "20"].map((count) => [count, count] as const)]);
  readonly #shell: Shell;
  #photo = "";

  constructor(shell: Shell, changed: () => void, ends?: readonly [string, string]) {
    this.#shell = shell;
    this.epsilon = epsilonSlider("guarantee", ends);
    for (const input of [this.epsilon.input, this.#keypoints.input, this.#words.input, this.#spread.input, this.#density.input]) {
      input.addEventListener("input", () => {
        this.#write();
        changed();
      });
    }
  }

  /** All fields but ε, in the order of a page. */
  get others(): readonly HTMLElement[] {
    const more = make("div", { class: "fields" }, this.#words.field, this.#spread.field, this.#density.field);
    return [make("div", { class: "fields" }, this.#keypoints.field), make("details", { class: "more" }, make("summary", {}, "More settings"), more)];
  }

  get value(): Choice {
    const [words, density] = [this.#words.input.value, this.#density.input.value];
    return {
      epsilon: Number(this.epsilon.input.value),
      numWords: words === "" ? null : Number(words),
      maxKeypoints: Number(this.#keypoints.input.value),
      spread: this.#spread.input.value === "spread",
      density: density === "" ? null : Number(density),
      boxes: session.boxes,
    };
  }

  /** Name of the example that the address asks for; "" for the person's own. */
  get photo(): string {
    return this.#photo;
  }

  /** Another photograph is shown: an example has a name, the person's own has none. */
  set photo(name: string) {
    this.#photo = name;
    this.#shell.setSettings({ photo: name === "" ? null : name });
  }

  /** Show what an address says. */
  read(address: URLSearchParams): void {
    const settings = new Settings(address);
    const epsilon = settings.number("epsilon", USUAL.epsilon, 1, 12);
    this.epsilon.input.value = String(epsilon);
    this.#keypoints.input.value = settings.choice("keypoints", String(USUAL.maxKeypoints), ...COUNTS, String(MOST));
    this.#spread.input.value = settings.choice("spread", "strength", "spread");
    this.#density.input.value = settings.choice("density", "", "2", "5", "10", "20");
    const words = settings.choice("words", "", ...["1024", "2048", "4096", "8192", "16384", "32768", "65536"]);
    this.#wanted = words;
    this.#words.input.value = words;
    this.#photo = settings.choice("photo", "", ...EXAMPLES.map(({ name }) => name));
    this.#show();
    this.#shell.say(settings.complaint);
  }

  /** The words are there: their numbers can be chosen. */
  offerWords(sizes: readonly number[]): void {
    const chosen = this.#words.input.value === "" ? this.#wanted : this.#words.input.value;
    this.#words.input.replaceChildren(make("option", { value: "" }, "as ε has it"), ...sizes.map((size) => make("option", { value: String(size) }, thousands(size))));
    this.#words.input.value = chosen;
  }

  #wanted = "";

  #show(): void {
    this.epsilon.shown.textContent = this.epsilon.input.value;
  }

  #write(): void {
    this.#show();
    const { density, epsilon, maxKeypoints, numWords, spread } = this.value;
    this.#shell.setSettings({ epsilon, keypoints: maxKeypoints, words: numWords, spread: spread ? "spread" : null, density });
  }
}
