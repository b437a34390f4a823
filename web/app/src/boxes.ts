/** Regions that a person hides by hand: drawn with a finger or a mouse, moved with the keyboard. */

import type { Box } from "@sfumato/device";
import { make } from "./dom.ts";

const SMALLEST = 8;

export class Boxes {
  #boxes: Box[] = [];
  #size: readonly [number, number] = [1, 1];
  #drawing: { readonly from: readonly [number, number]; readonly pointer: number } | null = null;
  readonly #layer: HTMLElement;
  readonly #changed: () => void;

  /** `layer` lies exactly over the picture. */
  constructor(layer: HTMLElement, changed: () => void) {
    this.#layer = layer;
    this.#changed = changed;
    layer.addEventListener("pointerdown", (event) => { this.#begin(event); });
    layer.addEventListener("pointermove", (event) => { this.#go(event); });
    layer.addEventListener("pointerup", (event) => { this.#end(event); });
    layer.addEventListener("pointercancel", () => { this.#drawing = null; this.#show(); });
  }

  get all(): readonly Box[] {
    return this.#boxes;
  }

  /** A new picture: the regions of the last one mean nothing here; `boxes` were drawn on this one before. */
  reset(width: number, height: number, boxes: readonly Box[] = []): void {
    this.#size = [width, height];
    this.#boxes = [...boxes];
    this.#show();
  }

  /** A region in the middle, for those who use the keyboard. */
  add(): void {
    const [width, height] = this.#size;
    this.#boxes.push([width * 0.35, height * 0.35, width * 0.65, height * 0.65]);
    this.#show();
    this.#changed();
    (this.#layer.lastElementChild as HTMLElement | null)?.focus();
  }

  #begin(event: PointerEvent): void {
    if (event.target !== this.#layer || event.button !== 0) return;
    this.#layer.setPointerCapture(event.pointerId);
    this.#drawing = { from: this.#at(event), pointer: event.pointerId };
  }

  #go(event: PointerEvent): void {
    if (this.#drawing?.pointer === event.pointerId) this.#show(between(this.#drawing.from, this.#at(event)));
  }

  #end(event: PointerEvent): void {
    if (this.#drawing?.pointer !== event.pointerId) return;
    const box = between(this.#drawing.from, this.#at(event));
    this.#drawing = null;
    if (box[2] - box[0] >= SMALLEST && box[3] - box[1] >= SMALLEST) {
      this.#boxes.push(box);
      this.#changed();
    }
    this.#show();
  }

  #at(event: PointerEvent): readonly [number, number] {
    const seen = this.#layer.getBoundingClientRect();
    const [width, height] = this.#size;
    return [
      within(((event.clientX - seen.left) / seen.width) * width, width),
      within(((event.clientY - seen.top) / seen.height) * height, height),
    ];
  }

  #show(drawn?: Box): void {
    this.#layer.replaceChildren(...this.#boxes.map((box, index) => this.#element(box, index)));
    if (drawn !== undefined) this.#layer.append(this.#placed(make("div", { class: "box is-new" }), drawn));
  }

  #element(box: Box, index: number): HTMLElement {
    const remove = make("button", { type: "button", "aria-label": `Show region ${index + 1} again` }, "×");
    remove.addEventListener("click", () => { this.#remove(index); });
    const label = `Hidden region ${index + 1}; arrow keys move it, with Shift they change its size, Delete removes it`;
    const element = make("div", { class: "box", tabindex: "0", role: "group", "aria-label": label }, remove);
    element.addEventListener("keydown", (event) => { this.#key(event, index); });
    return this.#placed(element, box);
  }

  #placed(element: HTMLElement, [left, top, right, bottom]: Box): HTMLElement {
    const [width, height] = this.#size;
    element.style.left = `${(100 * left) / width}%`;
    element.style.top = `${(100 * top) / height}%`;
    element.style.width = `${(100 * (right - left)) / width}%`;
    element.style.height = `${(100 * (bottom - top)) / height}%`;
    return element;
  }

  #remove(index: number): void {
    this.#boxes.splice(index, 1);
    this.#show();
    this.#changed();
  }

  #key(event: KeyboardEvent, index: number): void {
    const box = this.#boxes[index];
    if (box === undefined) return;
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      this.#remove(index);
      return;
    }
    const moved = withKey(box, event.key, event.shiftKey, this.#size);
    if (moved === null) return;
    event.preventDefault();
    this.#boxes[index] = moved;
    this.#show();
    (this.#layer.children[index] as HTMLElement).focus();
    this.#changed();
  }
}

/** The box after an arrow key: moved, or with Shift its lower right corner. Null: another key. */
export function withKey(box: Box, key: string, resize: boolean, [width, height]: readonly [number, number]): Box | null {
  const step = Math.max(4, Math.round(width / 64));
  const x = key === "ArrowLeft" ? -step : key === "ArrowRight" ? step : 0;
  const y = key === "ArrowUp" ? -step : key === "ArrowDown" ? step : 0;
  if (x === 0 && y === 0) return null;
  const [left, top, right, bottom] = box;
  if (resize) {
    return [left, top, Math.max(left + SMALLEST, within(right + x, width)), Math.max(top + SMALLEST, within(bottom + y, height))];
  }
  const dx = Math.max(-left, Math.min(x, width - right));
  const dy = Math.max(-top, Math.min(y, height - bottom));
  return [left + dx, top + dy, right + dx, bottom + dy];
}

function between(one: readonly [number, number], other: readonly [number, number]): Box {
  return [Math.min(one[0], other[0]), Math.min(one[1], other[1]), Math.max(one[0], other[0]), Math.max(one[1], other[1])];
}

function within(value: number, most: number): number {
  return Math.max(0, Math.min(most, value));
}
