/** A map in three dimensions, and where a server thinks the picture was taken. */

import "./place.css";
import type { KeypointRelease, Localization } from "@sfumato/device";
import { make, thousands } from "../../../app/src/dom.ts";
import { button } from "../parts.ts";
import { session } from "../session.ts";
import type { Mount, Shell } from "../shell.ts";
import { AnswerCard, readReleaseFile } from "./answer-card.ts";
import { CameraBar } from "./camera-bar.ts";
import { foundOf, readAnswerFile, type Found } from "./found.ts";
import { rayOf, type Model } from "./model.ts";
import type { FoundFile } from "./open.ts";
import { chosenFiles, droppedFiles, openPlace } from "./opener.ts";
import { counted } from "./problem.ts";
import { ServerCard } from "./server-card.ts";
import { Stage } from "./stage.ts";
import type { Vector } from "./vectors.ts";

const EXAMPLE_NAME = "Our drawn gallery, a room that a computer made";
const EXAMPLE = ["cameras.bin", "images.bin", "points3D.bin.gz", "answer.json", "release.sfr"];
const KINDS = { map: "A map of sfumato", colmap: "A COLMAP model", ply: "A point cloud", server: "A map on the server" } as const;

class PlaceTab {
  readonly #shell: Shell;
  readonly #stage: Stage;
  readonly #cameras: CameraBar;
  readonly #answerCard = new AnswerCard();
  readonly #server: ServerCard;
  readonly #about = make("p", { id: "place-about", role: "status" }, "No place is shown yet.");
  readonly #notes = make("ul", { class: "small", id: "place-notes" });
  readonly #near: HTMLButtonElement;
  #model: Model | null = null;
  #answer: Localization | null = null;
  #release: KeypointRelease | null = null;
  #bytes: Uint8Array<ArrayBuffer> | null = session.release?.data ?? null;
  #inliers: ReadonlySet<number> | null = null;

  constructor(container: HTMLElement, shell: Shell) {
    this.#shell = shell;
    this.#stage = new Stage((why) => { shell.say(why); }, () => { this.#cameras.left(this.#stage.view.through); }, shell.left);
    this.#cameras = new CameraBar(() => void this.#draw(), (camera) => {
      this.#stage.view.lookThrough(camera);
      this.#stage.moving();
    });
    this.#near = button("Go to the found place", "plain", () => { this.#approach(); });
    this.#near.id = "place-near";
    this.#near.disabled = true;
    this.#server = new ServerCard(shell, {
      place: (model) => void this.#show(model),
      answer: (answer, data) => void this.#take(answer, data),
      release: () => this.#bytes,
    });
    container.append(this.#window(), this.#cards());
    shell.onTheme(() => {
      this.#stage.recolour();
      this.#answerCard.recolour();
    });
    shell.onDrop(this.#stage.element, ({ items }) => {
      droppedFiles(items).then((files) => this.open(files), (error: unknown) => { shell.fail(error); });
    });
  }

  #window(): HTMLElement {
    const reset = button("Reset view", "plain", () => {
      this.#stage.view.reset();
      this.#stage.moving();
    });
    reset.id = "place-reset";
    return make("section", { class: "card place-window", "aria-labelledby": "place-title" },
      make("h2", { id: "place-title" }, "Where would it find you?"),
      this.#answerCard.verdict,
      this.#about,
      this.#stage.element,
      make("p", { class: "small place-keys", id: "place-keys" }, Stage.keys),
      make("div", { class: "buttons" }, reset, this.#near),
      this.#cameras.element,
      this.#notes);
  }

  #cards(): HTMLElement {
    const pick = (id: string, text: string, attributes: Record<string, string>, take: (files: FoundFile[]) => void): HTMLElement[] => {
      const input = make("input", { class: "quiet", id, type: "file", ...attributes });
      input.addEventListener("change", () => {
        const files = chosenFiles(input.files ?? new FileList());
        input.value = ""; // the same folder can be chosen again
        if (files.length > 0) take(files);
      });
      return [make("label", { class: "button plain", for: id }, text), input];
    };
    const open = make("section", { class: "card", "aria-labelledby": "place-open" },
      make("h2", { id: "place-open" }, "Open a place"),
      make("p", {}, "The folder of a map that sfumato made, a COLMAP model, or a PLY file. Files are read in this tab and go nowhere."),
      make("div", { class: "buttons" },
        ...pick("place-folder", "Choose a folder", { webkitdirectory: "", multiple: "" }, (files) => void this.open(files)),
        ...pick("place-files", "Choose files", { multiple: "", accept: ".ply,.bin,.txt,.npy,.json" }, (files) => void this.open(files)),
        button("Show the example", "plain", () => void this.example())),
      this.#server.element);
    const answer = make("section", { class: "card", "aria-labelledby": "place-answer" },
      make("h2", { id: "place-answer" }, "What the answer rests on"),
      this.#answerCard.element,
      make("div", { class: "buttons" },
        ...pick("place-json", "Open an answer", { accept: ".json" }, (files) => void this.#openAnswer(files)),
        ...pick("place-sfr", "Open its release", { accept: ".sfr" }, (files) => void this.#openAnswer(files))),
      make("p", { class: "small" }, "An answer is what ", make("code", {}, "sfumato localize release.sfr --map MAP --json --inliers > answer.json"), " writes; its release shows which keypoints agree."));
    return make("div", { class: "columns place-cards" }, open, answer);
  }

  /** The room that we drew ourselves, and one answer in it. */
  async example(): Promise<void> {
    const files = await this.#shell.run("Fetching the example", async (work) => Promise.all(
      EXAMPLE.map(async (name) => ({ path: `example/${name.replace(".gz", "")}`, file: new Blob([await this.#shell.fetchAsset(`examples/place/${name}`, { signal: work.signal })]) })),
    ));
    if (files !== undefined) await this.open(files, EXAMPLE_NAME);
  }

  /** Whatever was chosen: a place, an answer, a release, or several of these. */
  async open(files: readonly FoundFile[], name?: string): Promise<void> {
    const beside = files.filter(({ path }) => /\.(json|sfr)$/.test(path) && !path.endsWith("manifest.json"));
    const rest = files.filter((file) => !beside.includes(file));
    if (rest.length > 0) {
      const model = await this.#shell.run("Reading the place", (work) => openPlace(rest, work));
      if (model === undefined) return;
      [this.#answer, this.#release, this.#inliers] = [null, null, null];
      this.#answerCard.show(null, null);
      await this.#show(name === undefined ? model : { ...model, name });
    }
    if (beside.length > 0) await this.#openAnswer(beside);
  }

  async #openAnswer(files: readonly FoundFile[]): Promise<void> {
    await this.#shell.run("Reading the answer", async () => {
      for (const { path, file } of files) {
        if (path.endsWith(".sfr")) {
          const release = await readReleaseFile(file);
          [this.#release, this.#bytes] = [release, new Uint8Array(await file.arrayBuffer())];
        } else {
          this.#answer = await readAnswerFile(file);
        }
      }
      this.#server.refresh();
      await this.#showAnswer();
    });
  }

  async #take(answer: Localization, data: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#answer = answer;
    this.#release = await readReleaseFile(new Blob([data]));
    await this.#showAnswer();
  }

  async #show(model: Model): Promise<void> {
    this.#model = model;
    const cameras = model.cameras.length > 0 ? ` and ${counted(model.cameras.length, "camera")}` : "";
    this.#about.textContent = `${model.name === EXAMPLE_NAME ? "An example, not your photograph. " : ""}${KINDS[model.kind]}${model.name === "" ? "" : `, “${model.name}”`}: ${thousands(model.total)} points${cameras}.`;
    this.#notes.replaceChildren(...model.notes.map((note) => make("li", {}, note)));
    this.#cameras.show(model.cameras);
    await this.#showAnswer();
  }

  async #showAnswer(): Promise<void> {
    try {
      this.#inliers = this.#answerCard.show(this.#answer, this.#release);
    } catch (error) {
      this.#release = this.#inliers = null;
      this.#answerCard.show(this.#answer, null);
      this.#shell.fail(error);
    }
    await this.#draw();
  }

  async #draw(): Promise<void> {
    if (this.#model === null) return;
    const found = this.#found();
    this.#near.disabled = found?.camera == null;
    await this.#stage.show({
      model: this.#model,
      chosen: this.#cameras.chosen,
      showsCameras: this.#cameras.isShown,
      found,
      rays: this.#rays(found),
    });
  }

  #found(): Found | null {
    if (this.#answer === null || this.#model === null) return null;
    return foundOf(this.#answer, this.#release?.camera ?? null, this.#model.origin);
  }

  /** Where the points of inliers are not told, the directions in which they lie. */
  #rays(found: Found | null): readonly Vector[] {
    const [release, camera] = [this.#release, found?.camera];
    if (release === null || camera == null || this.#inliers === null) return [];
    return [...this.#inliers].map((row) => rayOf(camera, release.keypoints[2 * row] ?? 0, release.keypoints[2 * row + 1] ?? 0, release.width, release.height));
  }

  #approach(): void {
    const found = this.#found();
    if (found?.camera == null) return;
    const size = found.ellipsoid?.sizes[0] ?? 0;
    this.#stage.view.approach(found.camera.center, Math.max(12 * size, 0.02 * this.#stage.view.span));
    this.#stage.moving();
  }
}

export const mount: Mount = async (container, settings, shell) => {
  const tab = new PlaceTab(container, shell);
  if (settings.get("example") !== "none") await tab.example();
  return { update: () => undefined };
};
