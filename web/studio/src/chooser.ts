/** Where a photograph comes from: a file, a drop, or the examples. */

import { make } from "../../app/src/dom.ts";
import { EXAMPLES, type Example } from "./examples.ts";
import type { Shell } from "./shell.ts";

export class Chooser {
  readonly element: HTMLElement;
  readonly #links = new Map<string, HTMLButtonElement>();

  /** `area` is marked while files hover over the page. */
  constructor(shell: Shell, area: HTMLElement, chosen: (source: Blob | Example) => void) {
    const file = make("input", { class: "quiet", id: "file", type: "file", accept: "image/*" });
    file.addEventListener("change", () => {
      const [first] = file.files ?? [];
      file.value = ""; // the same file may be chosen again
      if (first !== undefined) chosen(first);
    });
    shell.onDrop(area, ({ files }) => {
      const [first] = files;
      if (first !== undefined) chosen(first);
      if (files.length > 1) shell.say(`One photograph is opened at a time: ${files.length} were dropped, the first is taken.`);
    });
    for (const example of EXAMPLES) {
      const picture = make("img", { src: `./examples/${example.file}`, alt: "", width: "64", height: "64", loading: "lazy" });
      const button = make("button", { type: "button", class: "example-button", title: example.credit, "aria-label": `Example: ${example.title}` }, picture);
      button.addEventListener("click", () => { chosen(example); });
      this.#links.set(example.name, button);
    }
    this.element = make(
      "div",
      { class: "buttons" },
      make("label", { class: "button plain", for: "file" }, "Choose a photograph"),
      file,
      make("span", { class: "small drop-hint" }, "or drop one here"),
      make("div", { class: "examples", role: "group", "aria-label": "Examples" }, ...this.#links.values()),
    );
  }

  /** Mark the example that is shown. */
  mark(example: Example | null): void {
    for (const [name, button] of this.#links) button.setAttribute("aria-pressed", String(name === example?.name));
  }
}
