/** The window onto a place: who draws, what moves, how much is drawn meanwhile. */

import { make } from "../../../app/src/dom.ts";
import { control, KEYS } from "./controls.ts";
import { extentOf } from "./model.ts";
import { paletteOf, type Painter, type Shown } from "./painter.ts";
import { PlainPainter } from "./plain.ts";
import { View } from "./view.ts";

const STILL = 200; // milliseconds without a change before everything is drawn
const FEWEST = 20_000;
const FIRST = 300_000;
const SLOW = 40;
const QUICK = 22;

export class Stage {
  readonly element: HTMLElement;
  readonly view = new View();
  readonly #say: (sentence: string) => void;
  readonly #moved: () => void;
  #painter: Painter | null = null;
  #starting: Promise<void> | null = null;
  #shown: Shown | null = null;
  #budget = FIRST;
  #pending = 0;
  #rest: ReturnType<typeof setTimeout> | undefined;
  #isMoving = false;
  #last = 0;

  /** `say`: a sentence where WebGL is missing. `moved`: the view is another one. */
  constructor(say: (sentence: string) => void, moved: () => void, left: AbortSignal) {
    this.#say = say;
    this.#moved = moved;
    this.element = make("div", {
      class: "place-stage", id: "place-stage", tabindex: "0", role: "application", "aria-label": "The place in three dimensions", "aria-describedby": "place-keys",
    });
    control(this.element, this.view, () => { this.moving(); }, left);
    const resized = new ResizeObserver(() => { this.draw(); });
    resized.observe(this.element);
    left.addEventListener("abort", () => {
      resized.disconnect();
      clearTimeout(this.#rest);
      cancelAnimationFrame(this.#pending);
      this.#painter?.close();
      this.#painter = null;
    });
  }

  static get keys(): string {
    return KEYS;
  }

  /** Draw this from now on; another model is looked at as a whole. */
  async show(shown: Shown): Promise<void> {
    const isOther = this.#shown?.model !== shown.model;
    this.#shown = shown;
    if (isOther) {
      this.view.show(extentOf(shown.model.points, shown.model.cameras), shown.model.up);
      this.#budget = FIRST;
    }
    await (this.#starting ??= this.#start());
    this.recolour();
  }

  /** The page has other colours, or something else is drawn. */
  recolour(): void {
    this.#painter?.show(this.#shown, paletteOf(this.element));
    this.draw();
  }

  /** The view moves: few points now, all of them when it rests. */
  moving(): void {
    this.#isMoving = true;
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => {
      this.#isMoving = false;
      this.#last = 0;
      this.draw();
    }, STILL);
    this.#moved();
    this.draw();
  }

  /** Draw with the next frame. */
  draw(): void {
    if (this.#pending !== 0) return;
    this.#pending = requestAnimationFrame((now) => {
      this.#pending = 0;
      this.#adapt(now);
      const start = performance.now();
      const drawn = this.#painter?.draw(this.view, this.#isMoving ? this.#budget : Infinity) ?? 0;
      this.element.dataset["drawn"] = String(drawn);
      this.element.dataset["milliseconds"] = (performance.now() - start).toFixed(1);
    });
  }

  /** As many points while it moves as this machine draws in time. */
  #adapt(now: number): void {
    const since = now - this.#last;
    this.#last = this.#isMoving ? now : 0;
    if (!this.#isMoving || since === now) return; // the first frame of a movement
    const total = (this.#shown?.model.points.length ?? 0) / 3;
    if (since > SLOW) this.#budget = Math.max(FEWEST, Math.min(total, this.#budget) / (since > 3 * SLOW ? 3 : 1.5));
    else if (since < QUICK) this.#budget = Math.min(4_000_000, this.#budget * 1.2);
  }

  async #start(): Promise<void> {
    const canvas = make("canvas", { "aria-hidden": "true" });
    this.element.replaceChildren(canvas);
    try {
      if (document.createElement("canvas").getContext("webgl2") === null) throw new Error("no WebGL");
      const { ScenePainter } = await import("./scene.ts");
      this.#painter = new ScenePainter(canvas);
      canvas.addEventListener("webglcontextlost", (event) => {
        event.preventDefault();
        if (this.#painter?.canvas === canvas) this.#plain("The browser took its 3-D drawing away; the place is shown as a plain picture with fewer points. Load the page again to get it back.");
      });
    } catch {
      this.#plain("This browser has no WebGL, so the place is shown as a plain picture with fewer points; turning and zooming work the same.");
    }
  }

  #plain(why: string): void {
    const canvas = make("canvas", { "aria-hidden": "true" });
    this.element.replaceChildren(canvas);
    this.element.dataset["plain"] = "";
    this.#painter = new PlainPainter(canvas);
    this.#painter.show(this.#shown, paletteOf(this.element));
    this.#say(why);
    this.draw();
  }
}
