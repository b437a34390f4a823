/** A place drawn with WebGL, by three.js. Loaded when a place is first shown. */

import {
  BufferAttribute,
  BufferGeometry,
  Color,
  ColorManagement,
  DoubleSide,
  Group,
  LinearSRGBColorSpace,
  LineBasicMaterial,
  LineSegments,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  PerspectiveCamera,
  Points,
  PointsMaterial,
  Scene,
  SphereGeometry,
  Vector2,
  WebGLRenderer,
  type Material,
} from "three";
import { cornersOf, type ShownCamera } from "./model.ts";
import { FOUND_FRUSTUM, FRUSTUM, RAY, type Painter, type Palette, type Shown } from "./painter.ts";
import { ringsOf } from "./plain.ts";
import { moved, type Vector } from "./vectors.ts";
import type { View } from "./view.ts";

// Colours are shown as they stand in the file and on the page.
ColorManagement.enabled = false;

export class ScenePainter implements Painter {
  readonly canvas: HTMLCanvasElement;
  readonly #renderer: WebGLRenderer;
  readonly #scene = new Scene();
  readonly #camera = new PerspectiveCamera();
  readonly #marks = new Group();
  #cloud: Points<BufferGeometry, PointsMaterial> | null = null;
  #points: Float32Array | null = null;
  #span = 0;
  #shown: Shown | null = null;
  #palette: Palette | null = null;
  #hasMarks = false;
  /** Of the palette, where the graphics card reads it. */
  readonly #range = { value: new Vector2(0, 1) };

  /** Throws where the browser has no WebGL. */
  constructor(canvas: HTMLCanvasElement) {
    this.canvas = canvas;
    this.#renderer = new WebGLRenderer({ canvas, antialias: false, powerPreference: "high-performance" });
    this.#renderer.outputColorSpace = LinearSRGBColorSpace;
    this.#scene.add(this.#marks);
  }

  show(shown: Shown | null, palette: Palette): void {
    [this.#shown, this.#palette, this.#hasMarks] = [shown, palette, false];
    this.#scene.background = new Color(palette.ground);
    this.#range.value.set(...(shown?.model.colours == null ? ([0, 1] as const) : palette.range));
    if (shown?.model.points !== this.#points) {
      this.#free(this.#cloud);
      this.#points = shown?.model.points ?? null;
      this.#cloud = shown === null ? null : cloudOf(shown, this.#range);
      if (this.#cloud !== null) this.#scene.add(this.#cloud);
    }
    if (this.#cloud !== null && shown?.model.colours === null) this.#cloud.material.color = new Color(palette.dots);
  }

  draw(view: View, most: number): number {
    const { canvas } = this;
    const dense = Math.min(2, devicePixelRatio);
    const [wide, tall] = [canvas.clientWidth, canvas.clientHeight];
    if (wide < 1 || tall < 1) return 0;
    this.#renderer.setPixelRatio(dense);
    this.#renderer.setSize(wide, tall, false);
    if (!this.#hasMarks || this.#span !== view.span) this.#makeMarks(view.span);
    const eye = view.eye(wide / tall);
    const camera = this.#camera;
    camera.fov = (2 * Math.atan(eye.tall) * 180) / Math.PI;
    camera.aspect = wide / tall;
    camera.near = 1e-3 * view.span;
    camera.far = 60 * view.span;
    camera.position.set(...eye.center);
    camera.up.set(-eye.down[0], -eye.down[1], -eye.down[2]);
    camera.lookAt(...moved(eye.center, 1, eye.forward));
    camera.updateProjectionMatrix();
    const count = Math.min(most, this.#shown === null ? 0 : this.#shown.model.points.length / 3);
    if (this.#cloud !== null) {
      this.#cloud.geometry.setDrawRange(0, count);
      this.#cloud.material.size = dense * (count > 300_000 ? 1.2 : count > 30_000 ? 1.6 : 2.8);
    }
    this.#renderer.render(this.#scene, camera);
    return count;
  }

  close(): void {
    this.#free(this.#cloud);
    this.#empty();
    this.#renderer.dispose();
    this.#renderer.forceContextLoss();
  }

  /** Cameras, the pose that was found, its inliers and its ellipsoid: few things, made anew. */
  #makeMarks(span: number): void {
    this.#empty();
    [this.#span, this.#hasMarks] = [span, true];
    const [shown, palette] = [this.#shown, this.#palette];
    if (shown === null || palette === null) return;
    const add = (segments: readonly Vector[], colour: string, opacity: number): void => {
      if (segments.length === 0) return;
      const geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(Float32Array.from(segments.flat()), 3));
      this.#marks.add(new LineSegments(geometry, new LineBasicMaterial({ color: new Color(colour), transparent: opacity < 1, opacity })));
    };
    if (shown.showsCameras) add(shown.model.cameras.flatMap((camera) => frustum(camera, FRUSTUM * span)), palette.cameras, 0.6);
    if (shown.chosen !== null) add(frustum(shown.chosen, 1.6 * FRUSTUM * span), palette.chosen, 1);
    const { found } = shown;
    if (found?.camera == null) return;
    const { camera } = found;
    const ends = found.points.length > 0 ? found.points : shown.rays.map((ray) => moved(camera.center, RAY * span, ray));
    add(ends.flatMap((end) => [camera.center, end]), palette.found, 0.22);
    add(frustum(camera, FOUND_FRUSTUM * span), palette.found, 1);
    this.#addFace(camera, FOUND_FRUSTUM * span, palette.found);
    if (found.points.length > 0) {
      const geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(Float32Array.from(found.points.flat()), 3));
      this.#marks.add(new Points(geometry, new PointsMaterial({ color: new Color(palette.found), size: 6 * Math.min(2, devicePixelRatio), sizeAttenuation: false })));
    }
    if (found.ellipsoid !== null) {
      const { axes, center, sizes } = found.ellipsoid;
      const ball = new Mesh(new SphereGeometry(1, 32, 20), new MeshBasicMaterial({ color: new Color(palette.found), transparent: true, opacity: 0.3, depthWrite: false, side: DoubleSide }));
      const column = (i: 0 | 1 | 2): Vector => [axes[i][0] * sizes[i], axes[i][1] * sizes[i], axes[i][2] * sizes[i]];
      const [a, b, c] = [column(0), column(1), column(2)];
      ball.matrixAutoUpdate = false;
      ball.matrix = new Matrix4().set(a[0], b[0], c[0], center[0], a[1], b[1], c[1], center[1], a[2], b[2], c[2], center[2], 0, 0, 0, 1);
      this.#marks.add(ball);
      add(ringsOf(found.ellipsoid).flatMap((ring) => ring.slice(1).flatMap((point, i) => [ring[i] ?? point, point])), palette.found, 0.9);
    }
  }

  #addFace(camera: ShownCamera, far: number, colour: string): void {
    const [a, b, c, d] = cornersOf(camera, far);
    const geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(Float32Array.from([a, b, c, a, c, d].flat()), 3));
    this.#marks.add(new Mesh(geometry, new MeshBasicMaterial({ color: new Color(colour), transparent: true, opacity: 0.16, side: DoubleSide, depthWrite: false })));
  }

  #empty(): void {
    for (const child of [...this.#marks.children]) {
      this.#free(child as Mesh);
      this.#marks.remove(child);
    }
  }

  #free(thing: { geometry: BufferGeometry; material: Material | Material[]; removeFromParent(): void } | null): void {
    if (thing === null) return;
    thing.removeFromParent();
    thing.geometry.dispose();
    for (const material of [thing.material].flat()) material.dispose();
  }
}

function cloudOf({ model }: Shown, range: { readonly value: Vector2 }): Points<BufferGeometry, PointsMaterial> {
  const geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(model.points, 3));
  if (model.colours !== null) geometry.setAttribute("color", new BufferAttribute(model.colours, 3, true));
  const cloud = new Points(geometry, new PointsMaterial({ sizeAttenuation: false, vertexColors: model.colours !== null }));
  cloud.frustumCulled = false;
  cloud.material.onBeforeCompile = (shader) => {
    shader.uniforms["range"] = range;
    const pressed = "#include <color_fragment>\ndiffuseColor.rgb = mix(vec3(range.x), vec3(range.y), diffuseColor.rgb);";
    shader.fragmentShader = `uniform vec2 range;\n${shader.fragmentShader.replace("#include <color_fragment>", pressed)}`;
  };
  return cloud;
}

function frustum(camera: ShownCamera, far: number): Vector[] {
  const corners = cornersOf(camera, far);
  return corners.flatMap((corner, i) => [camera.center, corner, corner, corners[(i + 1) % 4] ?? corner]);
}
