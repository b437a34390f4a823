/** Steps 3 and 4: draw the release, show it, send exactly it, show the answer. */

import type { Features, Prepared } from "@sfumato/device";
import { showAnswer } from "./answer.ts";
import type { Connection } from "./connection.ts";
import { byId, make, showFacts, short, tell, thousands } from "./dom.ts";
import type { Engine } from "./engine.ts";
import { hexDump, sha256 } from "./leaving.ts";
import type { Taken } from "./picture.ts";
import type { Place } from "./place.ts";
import { chosen, focalInPixels } from "./settings.ts";

const NOTHING_YET = "Nothing yet. “Protect” draws the words, charges your budget, and shows the bytes. They are not sent before you say so.";
const SHOWN = "These bytes, all of them and nothing else, are what “Send” sends. Sending them again costs nothing more.";

export class Exchange {
  #kept: Features | null = null;
  #picture: Taken | null = null;
  #prepared: Prepared | null = null;
  readonly #engine: Engine;
  readonly #connection: Connection;
  readonly #place: Place;
  readonly #failed: (error: unknown) => void;
  readonly #protect = byId<HTMLButtonElement>("protect-button");
  readonly #send = byId<HTMLButtonElement>("send-button");
  readonly #download = byId<HTMLAnchorElement>("download");

  constructor(engine: Engine, connection: Connection, place: Place, failed: (error: unknown) => void) {
    this.#engine = engine;
    this.#connection = connection;
    this.#place = place;
    this.#failed = failed;
  }

  /** What was shown is not of this picture or these settings any more. */
  forget(): void {
    this.#prepared = this.#kept = null;
    this.#protect.disabled = this.#send.disabled = true;
    this.#download.hidden = byId("leaving").hidden = true;
    URL.revokeObjectURL(this.#download.href);
    tell(byId("leaving-note"), NOTHING_YET);
  }

  /** These keypoints may be protected, once a map is chosen. */
  offer(kept: Features, picture: Taken): void {
    this.#kept = kept;
    this.#picture = picture;
    this.#protect.disabled = kept.scores.length === 0 || this.#connection.map === null;
  }

  /** Levels of the map's dictionary that the person may choose instead of the rule. */
  showWords(): void {
    const words = byId<HTMLSelectElement>("words");
    const before = words.value;
    const sizes = this.#engine.levels.map((size) => make("option", { value: String(size) }, thousands(size)));
    words.replaceChildren(make("option", { value: "" }, "by rule"), ...sizes);
    if (this.#engine.levels.includes(Number(before))) words.value = before;
  }

  /** Charge, draw once, show every byte. */
  async protect(): Promise<void> {
    const map = this.#connection.map;
    if (this.#kept === null || this.#picture === null || map === null) throw new Error("connect and choose a picture first.");
    this.#protect.disabled = true;
    const { width, height } = this.#picture.picture;
    const focal = focalInPixels(chosen().lens, width, height);
    const camera = { model: "PINHOLE", width, height, params: [focal, focal, width / 2, height / 2] } as const;
    try {
      this.#prepared = await this.#engine.prepare(this.#kept, camera, chosen(), map);
    } catch (error) {
      this.#protect.disabled = false;
      throw error;
    } finally {
      await this.showSpent();
    }
    await this.#show(this.#prepared);
    await this.showWaiting();
  }

  async #show({ data, release }: Prepared): Promise<void> {
    byId("bytes").textContent = hexDump(data, release);
    showFacts(byId("leaving-facts"), [
      ["bytes", thousands(data.length)],
      ["keypoints", thousands(release.keypoints.length / 2)],
      ["words to choose from", thousands(release.numWords)],
      ["ε per keypoint", short(release.epsilon)],
    ]);
    byId("digest").textContent = await sha256(data);
    this.#download.href = URL.createObjectURL(new Blob([data], { type: "application/octet-stream" }));
    this.#download.hidden = byId("leaving").hidden = false;
    this.#send.disabled = false;
    tell(byId("leaving-note"), SHOWN);
  }

  async send(): Promise<void> {
    if (this.#prepared === null) throw new Error("protect the picture first.");
    await this.#ask(this.#prepared);
  }

  async #ask(prepared: Prepared): Promise<void> {
    const start = performance.now();
    tell(byId("answer"), "Asking…");
    try {
      const answer = await this.#engine.send(prepared);
      const { left } = await this.#engine.spent(chosen().budget);
      const camera = prepared.release.camera;
      const focal = camera?.params[0] ?? 1;
      showAnswer(answer, {
        bytes: prepared.data.length,
        milliseconds: performance.now() - start,
        budgetLeft: left,
        half: [(camera?.width ?? 1) / 2 / focal, (camera?.height ?? 1) / 2 / focal],
      }, this.#place);
    } catch (error) {
      tell(byId("answer"), "Not answered.");
      throw error;
    } finally {
      await this.showWaiting();
    }
  }

  /** Send what waits, now that there may be a network. */
  async flush(): Promise<void> {
    if (!navigator.onLine || !this.#connection.hasKey) return;
    for (const prepared of await this.#engine.waiting()) {
      if (prepared.tried) await this.#ask(prepared);
    }
  }

  async showWaiting(): Promise<void> {
    const waiting = await this.#engine.waiting();
    byId("outbox").replaceChildren(...waiting.filter((one) => one.tried).map((one) => this.#entry(one)));
  }

  #entry(prepared: Prepared): HTMLElement {
    const again = make("button", { type: "button", class: "plain" }, "Send it now");
    again.addEventListener("click", () => { this.#ask(prepared).catch(this.#failed); });
    const text = `A release of ${thousands(prepared.data.length)} bytes waits for the network. The same bytes are sent, without further cost.`;
    return make("li", {}, make("span", {}, text), again);
  }

  async showSpent(): Promise<void> {
    const { spent, exact, left, kept } = await this.#engine.spent(chosen().budget);
    const share = Math.min(100, (100 * spent) / chosen().budget);
    byId("spent-bar").style.width = `${share}%`;
    const forgotten = kept ? "" : " This browser keeps nothing (a private window?): the count ends with this tab.";
    tell(byId("spent"), `N·ε = ${thousands(spent)} spent, E = ${short(exact)} counted exactly; ${thousands(left)} left of ${thousands(chosen().budget)}.${forgotten}`);
  }
}
