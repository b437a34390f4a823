/** From where a place is looked at: around a point, or through one of its cameras. */

import type { Extent, ShownCamera } from "./model.ts";
import { cross, moved, unit, type Vector } from "./vectors.ts";

/** Where an eye is and how it looks; `right`, `down` and `forward` are orthonormal. */
export interface Eye {
  readonly center: Vector;
  readonly right: Vector;
  readonly down: Vector;
  readonly forward: Vector;
  /** Half of the height of the picture over the focal length. */
  readonly tall: number;
}

const TALL = Math.tan((25 * Math.PI) / 180);
const STEEPEST = 1.55;
/** A wide window shows the place larger, as far as its height allows. */
const WIDEST = 1.15;

export class View {
  #up: Vector = [0, 0, 1];
  #extent: Extent = { middle: [0, 0, 0], span: 1 };
  #target: Vector = [0, 0, 0];
  #angle = 0.6;
  #height = 0.5;
  #distance = 1;
  #through: ShownCamera | null = null;

  /** The camera that is looked through, or null. */
  get through(): ShownCamera | null {
    return this.#through;
  }

  get span(): number {
    return this.#extent.span;
  }

  /** Another place: look at all of it. */
  show(extent: Extent, up: Vector | null): void {
    this.#extent = extent;
    this.#up = unit(up ?? [0, 0, 1]);
    this.reset();
  }

  /** Look at all of it from obliquely above. */
  reset(): void {
    this.#through = null;
    this.#target = this.#extent.middle;
    [this.#angle, this.#height] = [0.6, 0.5];
    this.#distance = 1.05 * this.#extent.span;
  }

  /** Look as this camera does. */
  lookThrough(camera: ShownCamera): void {
    this.#through = camera;
  }

  /** Come near to a point without turning. */
  approach(point: Vector, distance: number): void {
    this.#through = null;
    this.#target = point;
    this.#distance = this.#within(distance);
  }

  turn(around: number, over: number): void {
    this.#leave();
    this.#angle += around;
    this.#height = Math.max(-STEEPEST, Math.min(STEEPEST, this.#height + over));
  }

  /** Move the point that is looked at, in heights of the picture. */
  pan(across: number, down: number): void {
    this.#leave();
    const eye = this.eye();
    const size = 2 * this.#distance * eye.tall;
    this.#target = moved(moved(this.#target, across * size, eye.right), down * size, eye.down);
  }

  /** Above 1: nearer. */
  zoom(by: number): void {
    this.#leave();
    this.#distance = this.#within(this.#distance / by);
  }

  /** How the place is seen; through a camera, all of its picture fits into `aspect`. */
  eye(aspect = 1): Eye {
    if (this.#through !== null) {
      const { center, half, rotation } = this.#through;
      return { center, right: rotation[0], down: rotation[1], forward: rotation[2], tall: Math.max(half[1], half[0] / aspect) };
    }
    const up = this.#up;
    const aside = unit(cross(up, Math.abs(up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0]));
    const ahead = cross(up, aside);
    const [c, s, ch, sh] = [Math.cos(this.#angle), Math.sin(this.#angle), Math.cos(this.#height), Math.sin(this.#height)];
    const flat = unit(moved([-s * aside[0], -s * aside[1], -s * aside[2]], c, ahead));
    const forward = unit(moved([ch * flat[0], ch * flat[1], ch * flat[2]], -sh, up));
    const right = unit(cross(forward, up));
    return { center: moved(this.#target, -this.#distance, forward), right, down: cross(forward, right), forward, tall: TALL / Math.min(WIDEST, aspect) };
  }

  #within(distance: number): number {
    return Math.max(1e-4 * this.#extent.span, Math.min(20 * this.#extent.span, distance));
  }

  /** From a camera's eye back to turning around what it looks at. */
  #leave(): void {
    const camera = this.#through;
    if (camera === null) return;
    this.#through = null;
    const forward = camera.rotation[2];
    this.#distance = this.#within(0.25 * this.#extent.span);
    this.#target = moved(camera.center, this.#distance, forward);
    const up = this.#up;
    const aside = unit(cross(up, Math.abs(up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0]));
    const ahead = cross(up, aside);
    const dot = (one: Vector, other: Vector): number => one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
    this.#angle = Math.atan2(-dot(forward, aside), dot(forward, ahead));
    this.#height = Math.max(-STEEPEST, Math.min(STEEPEST, -Math.asin(Math.max(-1, Math.min(1, dot(forward, up))))));
  }
}

/** Onto a canvas: x and y in pixels and the depth before the eye; null behind it. */
export function projector(eye: Eye, width: number, height: number): (x: number, y: number, z: number) => Vector | null {
  const size = height / 2 / eye.tall;
  const { center, right, down, forward } = eye;
  return (x, y, z) => {
    const [dx, dy, dz] = [x - center[0], y - center[1], z - center[2]];
    const depth = dx * forward[0] + dy * forward[1] + dz * forward[2];
    if (!(depth > 1e-9)) return null;
    const across = dx * right[0] + dy * right[1] + dz * right[2];
    const below = dx * down[0] + dy * down[1] + dz * down[2];
    return [width / 2 + (size * across) / depth, height / 2 + (size * below) / depth, depth];
  };
}
