/** The picture with its keypoints: those that would be sent, and those that stay. */

import type { Features, Picture } from "@sfumato/device";

export class Stage {
  readonly #frame: HTMLElement;
  readonly #picture: HTMLCanvasElement;
  readonly #marks: HTMLCanvasElement;

  constructor(frame: HTMLElement, picture: HTMLCanvasElement, marks: HTMLCanvasElement) {
    this.#frame = frame;
    this.#picture = picture;
    this.#marks = marks;
  }

  show(picture: Picture): void {
    for (const canvas of [this.#picture, this.#marks]) {
      canvas.width = picture.width;
      canvas.height = picture.height;
    }
    this.#frame.style.setProperty("--shape", `${picture.width} / ${picture.height}`);
    const pixels = new Uint8ClampedArray(picture.data);
    this.#picture.getContext("2d")?.putImageData(new ImageData(pixels, picture.width, picture.height), 0, 0);
  }

  /** Circles as large as what each keypoint describes; kept ones are bright, the others faint dots. */
  mark(found: Features, kept: Features): void {
    const context = this.#marks.getContext("2d");
    if (context === null) return;
    const unit = Math.max(1, this.#marks.width / 640);
    context.clearRect(0, 0, this.#marks.width, this.#marks.height);
    context.fillStyle = "rgb(255 255 255 / 0.55)";
    for (let row = 0; row < found.scores.length; row++) {
      const [x, y] = position(found, row);
      context.fillRect(x - unit, y - unit, 2 * unit, 2 * unit);
    }
    for (const [colour, width] of [["rgb(10 40 44 / 0.55)", 3 * unit], ["#7fe3e6", 1.4 * unit]] as const) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      for (let row = 0; row < kept.scores.length; row++) {
        const [x, y] = position(kept, row);
        context.beginPath();
        context.arc(x, y, Math.max(2.5 * unit, (kept.scales[row] ?? 0) / 2), 0, 2 * Math.PI);
        context.stroke();
      }
    }
  }
}

function position(features: Features, row: number): readonly [number, number] {
  // The centre of a pixel is a whole number for keypoints, and half of one for a canvas.
  return [(features.keypoints[2 * row] ?? 0) + 0.5, (features.keypoints[2 * row + 1] ?? 0) + 0.5];
}
