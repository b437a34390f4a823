/** The page: a picture becomes a release here, and only the release is sent. */

import type { Features, MapInfo } from "@sfumato/device";
import { Boxes } from "./boxes.ts";
import { Camera } from "./camera.ts";
import { Connection, trusted } from "./connection.ts";
import { byId, on, sentence, tell, thousands } from "./dom.ts";
import { Engine } from "./engine.ts";
import { Exchange } from "./exchange.ts";
import { installPage } from "./install.ts";
import { readPicture, type Taken } from "./picture.ts";
import { Place } from "./place.ts";
import { showGuarantee } from "./sentences.ts";
import { chosen, showLens, showProgress } from "./settings.ts";
import { Stage } from "./stage.ts";

const engine = new Engine(...trusted());
const place = new Place(byId<HTMLCanvasElement>("place"));
const stage = new Stage(byId("picture"), byId<HTMLCanvasElement>("pixels"), byId<HTMLCanvasElement>("marks"));
const boxes = new Boxes(byId("boxes"), () => { select(); });
const camera = new Camera(byId<HTMLVideoElement>("video"));
const connection = new Connection(engine, useMap);
const exchange = new Exchange(engine, connection, place, problem);

let picture: Taken | null = null;
let found: Features | null = null;

function problem(error: unknown): void {
  tell(byId("problem"), sentence(error), "error");
}

/** Long work: its buttons wait, its errors are told, the last error is forgotten. */
async function busy(work: () => Promise<void>): Promise<void> {
  tell(byId("problem"), "");
  document.body.setAttribute("aria-busy", "true");
  try {
    await work();
  } finally {
    document.body.removeAttribute("aria-busy");
    byId<HTMLProgressElement>("progress").hidden = true;
  }
}

async function useMap(map: MapInfo | null): Promise<void> {
  engine.leaveMap();
  select(); // nothing is protected for a map before its words are known to be the right ones
  place.show([], [0, 0, 1]);
  await exchange.showWaiting();
  if (map === null) return;
  await busy(async () => {
    await engine.useMap(map, showProgress);
    exchange.showWords();
    select();
    const { points, up } = await engine.points(map);
    place.show(points, up);
  });
}

async function useFile(file: Blob | undefined): Promise<void> {
  if (file === undefined) return;
  closeCamera();
  await busy(async () => { await usePicture(await readPicture(file, chosen().maxPixels)); });
}

async function usePicture(taken: Taken): Promise<void> {
  picture = taken;
  found = null;
  exchange.forget();
  byId("empty").hidden = true;
  byId("picture").hidden = false;
  stage.show(taken.picture);
  boxes.reset(taken.picture.width, taken.picture.height);
  showLens(taken.focal35);
  byId<HTMLButtonElement>("hide-button").disabled = false;
  tell(byId("found"), "Looking for keypoints…");
  const start = performance.now();
  const features = await engine.extract(taken.picture, showProgress);
  if (picture !== taken) return; // another one came meanwhile
  found = features;
  tell(byId("found"), "");
  select(performance.now() - start);
}

/** What would be sent of this picture with these settings; drawn and priced, not charged. */
function select(milliseconds?: number): void {
  try {
    exchange.forget();
    byId("epsilon-shown").textContent = String(chosen().epsilon);
    const kept = found === null ? null : engine.select(found, chosen(), boxes.all);
    const count = kept?.scores.length ?? chosen().maxKeypoints;
    showGuarantee(byId("guarantee"), engine.cost(chosen(), count), kept !== null);
    if (found === null || kept === null || picture === null) return;
    stage.mark(found, kept);
    exchange.offer(kept, picture);
    tell(byId("found"), describe(found.scores.length, kept.scores.length, milliseconds));
  } catch (error) {
    problem(error);
  }
}

function describe(all: number, kept: number, milliseconds: number | undefined): string {
  if (all === 0) return "No keypoint was found: the picture is blank or blurred, and there is nothing to send.";
  if (kept === 0) return "Every keypoint is hidden; show a part of the picture again.";
  const time = milliseconds === undefined ? "" : ` in ${thousands(milliseconds)} ms`;
  return `${thousands(all)} keypoints found here${time}; ${thousands(kept)} of them would be sent.`;
}

async function openCamera(): Promise<void> {
  tell(byId("problem"), "");
  if (!(await camera.start())) return;
  byId("video").hidden = false;
  byId("picture").hidden = byId("empty").hidden = true;
  byId("take-button").hidden = false;
  byId("camera-button").textContent = "Stop the camera";
}

function closeCamera(): void {
  camera.stop();
  byId("video").hidden = byId("take-button").hidden = true;
  byId("picture").hidden = picture === null;
  byId("empty").hidden = picture !== null;
  byId("camera-button").textContent = "Use the camera";
}

async function take(): Promise<void> {
  const taken = await camera.take(chosen().maxPixels);
  closeCamera();
  await busy(async () => { await usePicture(taken); });
}

function listen(): void {
  on(byId("connect"), "submit", (event) => {
    event.preventDefault();
    return busy(() => connection.connect());
  }, problem);
  on(byId("map"), "change", () => connection.choose(), problem);
  on(byId("file"), "change", async (event) => {
    const input = event.target as HTMLInputElement;
    const [file] = input.files ?? [];
    input.value = ""; // the same file may be chosen again
    await useFile(file);
  }, problem);
  on(byId("camera-button"), "click", async () => {
    if (camera.isOn) closeCamera();
    else await openCamera();
  }, problem);
  on(byId("take-button"), "click", take, problem);
  on(byId("hide-button"), "click", () => { boxes.add(); }, problem);
  on(byId("protect-button"), "click", () => busy(() => exchange.protect()), problem);
  on(byId("send-button"), "click", () => busy(() => exchange.send()), problem);
  for (const id of ["epsilon", "keypoints", "words", "spread", "density", "lens", "budget"]) {
    on(byId(id), "input", () => { select(); }, problem);
  }
  listenToDrops(byId("stage"));
  // A camera that nobody sees is off.
  on(document, "visibilitychange", () => { if (document.hidden) closeCamera(); }, problem);
  on(window, "online", online, problem);
}

function listenToDrops(area: HTMLElement): void {
  for (const name of ["dragover", "dragleave", "drop"]) {
    on(area, name, (event) => {
      event.preventDefault();
      area.classList.toggle("is-over", name === "dragover");
      return name === "drop" ? useFile((event as DragEvent).dataTransfer?.files[0]) : undefined;
    }, problem);
  }
}

/** The network is back: what waits is sent, and a page that was opened without it connects. */
async function online(): Promise<void> {
  if (connection.hasKey && connection.map === null) await busy(() => connection.connect());
  await busy(() => exchange.flush());
}

async function start(): Promise<void> {
  listen();
  byId("version").textContent = __PAGE_VERSION__;
  select();
  await exchange.showSpent();
  await installPage(byId("notice"));
  await exchange.showWaiting();
  if (connection.hasKey) await busy(() => connection.connect());
}

start().catch(problem);
