/** The map as dots, turned by hand, and the camera that was found among them. */

export type Vector = readonly [number, number, number];

/** Where a camera stands and how it looks. */
export interface Seen {
  readonly center: Vector;
  /** Rows of R in cam_from_world: right, down and forward of the camera, in the world. */
  readonly rotation: readonly [Vector, Vector, Vector];
  /** Half of the picture's width and height, over the focal length. */
  readonly half: readonly [number, number];
}

const TURN = 0.12;

export class Place {
  #points: readonly Vector[] = [];
  #up: Vector = [0, 0, 1];
  #extent = extent([]);
  #seen: Seen | null = null;
  #angle = 0.6;
  #height = 0.55;
  #zoom = 1;
  readonly #canvas: HTMLCanvasElement;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    let last: PointerEvent | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      last = event;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (last === null) return;
      this.#turn((event.clientX - last.clientX) / 160, (event.clientY - last.clientY) / 160);
      last = event;
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { last = null; });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#scale(Math.exp(-event.deltaY / 400));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => { this.#key(event); });
    new ResizeObserver(() => { this.draw(); }).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.draw(); });
  }

  show(points: readonly Vector[], up: Vector): void {
    this.#points = points;
    this.#up = up;
    this.#zoom = 1;
    this.#extent = extent(points.length > 0 || this.#seen === null ? points : [this.#seen.center]);
    this.draw();
  }

  point(seen: Seen | null): void {
    this.#seen = seen;
    this.draw();
  }

  #key(event: KeyboardEvent): void {
    const turns: Record<string, readonly [number, number]> = {
      ArrowLeft: [-TURN, 0], ArrowRight: [TURN, 0], ArrowUp: [0, -TURN], ArrowDown: [0, TURN],
    };
    const turn = turns[event.key];
    if (turn !== undefined) this.#turn(turn[0], turn[1]);
    else if (event.key === "+" || event.key === "=") this.#scale(1.2);
    else if (event.key === "-") this.#scale(1 / 1.2);
    else return;
    event.preventDefault();
  }

  #turn(around: number, over: number): void {
    this.#angle += around;
    this.#height = Math.max(-1.5, Math.min(1.5, this.#height + over));
    this.draw();
  }

  #scale(by: number): void {
    this.#zoom = Math.max(0.3, Math.min(12, this.#zoom * by));
    this.draw();
  }

  draw(): void {
    const canvas = this.#canvas;
    const dense = Math.min(2, devicePixelRatio);
    const [width, height] = [Math.round(canvas.clientWidth * dense), Math.round(canvas.clientHeight * dense)];
    if (width === 0 || height === 0) return;
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d");
    if (context === null) return;
    const style = getComputedStyle(canvas);
    const onto = this.#projection(width, height);
    const dot = 2 * dense;
    context.fillStyle = style.getPropertyValue("--soft");
    for (const point of this.#points) {
      const [x, y, depth] = onto(point);
      context.globalAlpha = Math.max(0.2, Math.min(0.95, 0.6 - 0.4 * depth));
      context.fillRect(x - dot / 2, y - dot / 2, dot, dot);
    }
    context.globalAlpha = 1;
    if (this.#seen !== null) this.#drawCamera(context, this.#seen, onto, style.getPropertyValue("--paper"), dense);
  }

  #drawCamera(context: CanvasRenderingContext2D, seen: Seen, onto: (point: Vector) => Vector, colour: string, dense: number): void {
    const far = 0.22 * this.#extent.span;
    const corner = (x: number, y: number): Vector => {
      const [right, down, forward] = seen.rotation;
      return add(seen.center, far, add(forward, x * seen.half[0], right, y * seen.half[1], down));
    };
    const [cx, cy] = onto(seen.center);
    const corners = ([[-1, -1], [1, -1], [1, 1], [-1, 1]] as const).map(([x, y]) => onto(corner(x, y)));
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.8 * dense;
    context.lineJoin = "round";
    context.beginPath();
    for (const [x, y] of corners) {
      context.moveTo(cx, cy);
      context.lineTo(x, y);
    }
    corners.forEach(([x, y], index) => {
      if (index === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    });
    const first = corners[0];
    if (first !== undefined) context.lineTo(first[0], first[1]);
    context.globalAlpha = 0.16;
    context.fill();
    context.globalAlpha = 1;
    context.stroke();
    context.beginPath();
    context.arc(cx, cy, 5 * dense, 0, 2 * Math.PI);
    context.fill();
  }

  /** From the world to the canvas: x, y, and how far behind the middle it lies, from −1 to 1. */
  #projection(width: number, height: number): (point: Vector) => Vector {
    const { middle, span } = this.#extent;
    const up = unit(this.#up);
    const aside = unit(cross(up, Math.abs(up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0]));
    const ahead = cross(up, aside);
    const [c, s] = [Math.cos(this.#angle), Math.sin(this.#angle)];
    const right = add([0, 0, 0], 1, scaled(aside, c), s, ahead);
    const flat = add([0, 0, 0], 1, scaled(aside, -s), c, ahead);
    const [ch, sh] = [Math.cos(this.#height), Math.sin(this.#height)];
    const size = (1.3 * this.#zoom * Math.min(width, height)) / span;
    return (point) => {
      const from = add(point, -1, middle);
      const [x, y, z] = [dot(from, right), dot(from, flat), dot(from, up)];
      const depth = (y * ch - z * sh) / span;
      const near = size / (1 + 0.35 * depth);
      return [width / 2 + x * near, height / 2 - (z * ch + y * sh) * near, depth];
    };
  }
}

/** The middle of the points and their extent, without the few that lie far outside. */
function extent(points: readonly Vector[]): { middle: Vector; span: number } {
  const sides = ([0, 1, 2] as const).map((axis) => {
    const values = points.map((point) => point[axis]).sort((one, other) => one - other);
    const at = (share: number) => values[Math.floor(share * (values.length - 1))] ?? 0;
    return [at(0.02), at(0.98)] as const;
  });
  const [x, y, z] = sides.map(([low, high]) => (low + high) / 2);
  const span = Math.hypot(...sides.map(([low, high]) => high - low));
  return { middle: [x ?? 0, y ?? 0, z ?? 0], span: span > 0 ? span : 1 };
}

function dot(one: Vector, other: Vector): number {
  return one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
}

function cross(one: Vector, other: Vector): Vector {
  return [
    one[1] * other[2] - one[2] * other[1],
    one[2] * other[0] - one[0] * other[2],
    one[0] * other[1] - one[1] * other[0],
  ];
}

function scaled(vector: Vector, by: number): Vector {
  return [vector[0] * by, vector[1] * by, vector[2] * by];
}

function unit(vector: Vector): Vector {
  return scaled(vector, 1 / Math.max(1e-12, Math.hypot(...vector)));
}

/** start + a·one + b·other */
function add(start: Vector, a: number, one: Vector, b = 0, other: Vector = [0, 0, 0]): Vector {
  return [
    start[0] + a * one[0] + b * other[0],
    start[1] + a * one[1] + b * other[1],
    start[2] + a * one[2] + b * other[2],
  ];
}
