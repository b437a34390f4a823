/** Turn, move and zoom by mouse, touch and keys. */

import type { View } from "./view.ts";

const TURN = 0.1;
const PAN = 0.06;
const ZOOM = 1.2;

/** What keys do, for those who look for it. */
export const KEYS = "Drag to turn, Shift-drag or two fingers to move, wheel or pinch to zoom; arrow keys turn, Shift and arrows move, + and − zoom, 0 resets.";

export function control(element: HTMLElement, view: View, changed: () => void, left: AbortSignal): void {
  const fingers = new Map<number, PointerEvent>();
  const options = { signal: left };
  element.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, event);
    try {
      element.setPointerCapture(event.pointerId);
    } catch {
      // a pointer that is gone already
    }
  }, options);
  element.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (before === undefined) return;
    const tall = Math.max(1, element.clientHeight);
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
    if (other !== undefined) {
      const apart = (finger: PointerEvent): number => Math.max(8, Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY));
      view.zoom(apart(event) / apart(before));
      view.pan(-dx / 2 / tall, -dy / 2 / tall);
    } else if (event.shiftKey || (event.buttons & 6) !== 0) {
      view.pan(-dx / tall, -dy / tall);
    } else {
      view.turn(-dx / 180, dy / 180);
    }
    fingers.set(event.pointerId, event);
    changed();
  }, options);
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"] as const) {
    element.addEventListener(name, (event) => fingers.delete(event.pointerId), options);
  }
  element.addEventListener("contextmenu", (event) => { event.preventDefault(); }, options);
  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : 1;
    view.zoom(Math.exp(Math.max(-0.5, Math.min(0.5, (-event.deltaY * lines) / 500))));
    changed();
  }, { ...options, passive: false });
  element.addEventListener("keydown", (event) => {
    if (!pressed(event, view)) return;
    event.preventDefault();
    changed();
  }, options);
}

/** Whether the key meant something. */
export function pressed(event: Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">, view: View): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const ways: Record<string, readonly [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const way = ways[event.key];
  if (way !== undefined) {
    if (event.shiftKey) view.pan(PAN * way[0], PAN * way[1]);
    else view.turn(-TURN * way[0], -TURN * way[1]);
  } else if (event.key === "+" || event.key === "=") view.zoom(ZOOM);
  else if (event.key === "-" || event.key === "_") view.zoom(1 / ZOOM);
  else if (event.key === "0" || event.key === "Home") view.reset();
  else return false;
  return true;
}
