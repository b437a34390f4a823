/** The map's own cameras: which one is chosen, and the look through it. */

import { make, thousands } from "../../../app/src/dom.ts";
import { button } from "../parts.ts";
import type { ShownCamera } from "./model.ts";

export class CameraBar {
  readonly element: HTMLElement;
  readonly #changed: () => void;
  readonly #number = make("input", { id: "place-camera", type: "number", min: "1", value: "1", inputmode: "numeric" });
  readonly #name = make("output", { class: "small place-name", for: "place-camera" });
  readonly #shows = make("input", { id: "place-cameras", type: "checkbox" });
  readonly #through: HTMLButtonElement;
  #cameras: readonly ShownCamera[] = [];
  #isChosen = false;

  constructor(changed: () => void, look: (camera: ShownCamera) => void) {
    this.#changed = changed;
    this.#shows.checked = true;
    this.#shows.addEventListener("change", changed);
    this.#number.addEventListener("input", () => { this.#choose(); });
    this.#through = button("Look through this camera", "plain", () => {
      this.#choose();
      const camera = this.chosen;
      if (camera === null) return;
      look(camera);
      this.#through.setAttribute("aria-pressed", "true");
    });
    this.#through.id = "place-through";
    this.element = make("div", { class: "place-cameras", hidden: "" },
      make("div", { class: "field" }, make("label", { for: "place-camera" }, "Camera of the map"), this.#number),
      this.#name,
      make("div", { class: "buttons" },
        button("Previous", "plain", () => { this.#step(-1); }),
        button("Next", "plain", () => { this.#step(1); }),
        this.#through),
      make("label", { class: "place-check", for: "place-cameras" }, this.#shows, "Show cameras"));
  }

  get chosen(): ShownCamera | null {
    return this.#isChosen ? (this.#cameras[Number(this.#number.value) - 1] ?? null) : null;
  }

  get isShown(): boolean {
    return this.#shows.checked;
  }

  /** The cameras of another place. */
  show(cameras: readonly ShownCamera[]): void {
    this.#cameras = cameras;
    this.#isChosen = false;
    this.element.hidden = cameras.length === 0;
    this.#number.max = String(cameras.length);
    this.#number.value = "1";
    this.#tell();
  }

  /** The view is through this camera, or through none. */
  left(through: ShownCamera | null): void {
    this.#through.setAttribute("aria-pressed", String(through !== null));
  }

  #step(by: number): void {
    const count = this.#cameras.length;
    if (count === 0) return;
    const now = Number(this.#number.value) || 1;
    this.#number.value = String(((now - 1 + by + count) % count) + 1);
    const looks = this.#through.getAttribute("aria-pressed") === "true";
    if (looks) this.#through.click();
    else this.#choose();
  }

  #choose(): void {
    this.#isChosen = true;
    this.#tell();
    this.#changed();
  }

  #tell(): void {
    const number = Number(this.#number.value);
    const name = this.#cameras[number - 1]?.name;
    this.#name.textContent = name === undefined ? `a number from 1 to ${thousands(this.#cameras.length)}` : `${thousands(number)} of ${thousands(this.#cameras.length)}: ${name}`;
  }
}
