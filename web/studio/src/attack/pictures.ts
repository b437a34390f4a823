/** Paintings as elements: a canvas each, and a slider that lays one over the other. */

import { make } from "../../../app/src/dom.ts";
import { select } from "../parts.ts";

/** RGB planes in 0…1 on a canvas of their size. */
export function drawPlanes(canvas: HTMLCanvasElement, planes: Float32Array, width: number, height: number): void {
  canvas.width = width;
  canvas.height = height;
  const area = width * height;
  const pixels = new Uint8ClampedArray(4 * area);
  for (let i = 0; i < area; i++) {
    for (let colour = 0; colour < 3; colour++) pixels[4 * i + colour] = Math.round(255 * (planes[colour * area + i] ?? 0));
    pixels[4 * i + 3] = 255;
  }
  canvas.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
}

/** One painting with its caption and a bar as long as its SSIM. */
export class Shot {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly #title: HTMLElement;
  readonly #lines = make("div");
  readonly #level = make("i");
  readonly #bar = make("span", { class: "level", "aria-hidden": "true" });

  constructor(name: string, title: string) {
    this.canvas = make("canvas", { role: "img", "aria-label": title, id: `shot-${name}` });
    this.#title = make("b", {}, title);
    this.#bar.hidden = true;
    this.#bar.append(this.#level);
    const caption = make("figcaption", {}, this.#title, this.#bar, this.#lines);
    this.element = make("figure", { class: "shot is-empty" }, this.canvas, caption);
  }

  get hasPicture(): boolean {
    return !this.element.classList.contains("is-empty");
  }

  show(planes: Float32Array, width: number, height: number): void {
    drawPlanes(this.canvas, planes, width, height);
    this.element.classList.remove("is-empty");
    this.element.classList.remove("is-old");
  }

  /** A new painting is under way: this one is of other settings. */
  fade(): void {
    if (this.hasPicture) this.element.classList.add("is-old");
  }

  /** Nothing yet, in the shape of what will be painted. */
  clear(width: number, height: number): void {
    [this.canvas.width, this.canvas.height] = [width, height];
    this.element.classList.add("is-empty");
    this.element.removeAttribute("data-looks");
    this.#bar.hidden = true;
    this.#lines.replaceChildren(make("span", {}, "not painted yet"));
  }

  tell(title: string, level: number | null, ...lines: readonly string[]): void {
    this.#title.textContent = title;
    this.canvas.setAttribute("aria-label", [title, ...lines].join(". "));
    this.#bar.hidden = level === null;
    this.#level.style.width = `${(100 * Math.min(1, Math.max(0, level ?? 0))).toFixed(1)}%`;
    this.#lines.replaceChildren(...lines.map((line) => make("span", {}, line)));
  }
}

/** Two pictures, one over the other; a slider moves the border between them. */
export class Compare {
  readonly element: HTMLElement;
  readonly #under = make("canvas", { "aria-hidden": "true" });
  readonly #over = make("canvas", { "aria-hidden": "true" });
  readonly #border = make("i", { "aria-hidden": "true" });
  readonly #slider = make("input", { type: "range", min: "0", max: "100", value: "50", id: "compare", "aria-label": "Border between the two pictures" });
  readonly #left: HTMLSelectElement;
  readonly #right: HTMLSelectElement;
  readonly #shots: ReadonlyMap<string, Shot>;

  constructor(shots: ReadonlyMap<string, Shot>, names: readonly (readonly [string, string])[], left: string, right: string) {
    this.#shots = shots;
    const [first, second] = [select("compare-left", "Left of the border", names), select("compare-right", "Right of the border", names)];
    [this.#left, this.#right] = [first.input, second.input];
    this.#left.value = left;
    this.#right.value = right;
    for (const input of [this.#left, this.#right]) input.addEventListener("input", () => { this.update(); });
    this.#slider.addEventListener("input", () => { this.#move(); });
    this.element = make("div", { class: "compare" }, make("div", { class: "compare-stage" }, this.#under, this.#over, this.#border), this.#slider, make("div", { class: "fields compare-fields" }, first.field, second.field));
    this.#move();
  }

  /** The paintings changed. */
  update(): void {
    copy(this.#shots.get(this.#left.value), this.#over);
    copy(this.#shots.get(this.#right.value), this.#under);
  }

  #move(): void {
    const place = Number(this.#slider.value);
    this.#over.style.clipPath = `inset(0 ${100 - place}% 0 0)`;
    this.#border.style.left = `${place}%`;
  }
}

function copy(shot: Shot | undefined, canvas: HTMLCanvasElement): void {
  const context = canvas.getContext("2d");
  if (shot === undefined || context === null) return;
  canvas.width = shot.canvas.width;
  canvas.height = shot.canvas.height;
  if (shot.hasPicture) context.drawImage(shot.canvas, 0, 0);
}
