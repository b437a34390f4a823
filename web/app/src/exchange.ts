/** Steps 3 and 4: draw the release, show it, send exactly it, show the answer. */

import { Unreachable, type Features, type Prepared } from "@sfumato/device";
import { forgetAnswer, showAnswer } from "./answer.ts";
import { remember, remembered, type Connection } from "./connection.ts";
import { byId, make, on, sentence, showFacts, short, tell, thousands } from "./dom.ts";
import type { Engine } from "./engine.ts";
import { hexDump, sha256 } from "./leaving.ts";
import type { Taken } from "./picture.ts";
import type { Place } from "./place.ts";
import { chosen, focalInPixels, showProgress } from "./settings.ts";

const SENT = "sfumato-sent";
const NOTHING_YET = "Nothing yet. “Protect” draws the words, charges your budget, and shows the bytes. They are not sent before you say so.";
const SHOWN = "These bytes, all of them and nothing else, are what “Send” sends. Sending them again costs nothing more.";

export class Exchange {
  #kept: Features | null = null;
  #picture: Taken | null = null;
  #prepared: Prepared | null = null;
  /** The map that what is shown is for. */
  #map = "";
  /** Releases that the person sent in this tab: these may be sent again without asking. */
  readonly #sent = new Set<string>(remembered(SENT).split(" "));
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
    this.#protect.disabled = kept.scores.length === 0 || this.#engine.levels.length === 0;
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
    const kept = this.#kept;
    if (kept === null || this.#picture === null || map === null) throw new Error("connect and choose a picture first.");
    this.#protect.disabled = true;
    const { width, height } = this.#picture.picture;
    const focal = focalInPixels(chosen().lens, width, height);
    const camera = { model: "PINHOLE", width, height, params: [focal, focal, width / 2, height / 2] } as const;
    const inputs = ["connect", "device"].map((id) => byId(id));
    for (const part of inputs) part.inert = true; // what is drawn is what is shown
    let prepared: Prepared;
    try {
      prepared = await this.#engine.prepare(kept, camera, chosen(), map, showProgress);
    } catch (error) {
      this.#protect.disabled = this.#kept === null;
      throw error;
    } finally {
      for (const part of inputs) part.inert = false;
      await this.showSpent();
    }
    if (this.#kept !== kept) {
      await this.#engine.forget(prepared.id ?? "");
      throw new Error("the picture or a setting changed while the words were drawn, so they are not sent; what they cost stays spent. Protect again.");
    }
    await this.#show(prepared, map.id);
  }

  async #show(prepared: Prepared, map: string): Promise<void> {
    const { data, release } = prepared;
    if (release.kind !== "words") throw new Error("this page sends words alone.");
    [this.#prepared, this.#map] = [prepared, map];
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
    await this.#ask(this.#prepared, this.#map);
  }

  /** Ask with a release; without a network it waits, and the person is told. */
  async #ask(prepared: Prepared, map: string): Promise<void> {
    const start = performance.now();
    if (prepared.id !== null) this.#sent.add(prepared.id);
    remember(SENT, [...this.#sent].join(" "));
    tell(byId("answer"), "Asking…");
    forgetAnswer(this.#place);
    try {
      const answer = await this.#engine.send(prepared, chosen(), map);
      const milliseconds = performance.now() - start;
      const { left } = await this.#engine.account(chosen().budget);
      const camera = prepared.release.camera;
      const focal = camera?.params[0] ?? 1;
      const half = [(camera?.width ?? 1) / 2 / focal, (camera?.height ?? 1) / 2 / focal] as const;
      showAnswer(answer, { bytes: prepared.data.length, milliseconds, budgetLeft: left, half }, this.#place);
    } catch (error) {
      const waits = error instanceof Unreachable && prepared.id !== null;
      tell(byId("answer"), waits ? `Not answered yet. ${sentence(error)}` : "Not answered.");
      if (!waits) throw error;
    } finally {
      await this.showWaiting();
    }
  }

  /** Send what the person has sent already and nobody answered, now that there may be a network. */
  async flush(): Promise<void> {
    if (!navigator.onLine) return;
    for (const { prepared, map } of await this.#engine.waiting()) {
      if (this.#sent.has(prepared.id ?? "")) await this.#ask(prepared, map).catch(this.#failed); // the next may fare better
    }
  }

  /** What was drawn and not answered: also what another visit left behind. */
  async showWaiting(): Promise<void> {
    const waiting = await this.#engine.waiting();
    const others = waiting.filter(({ prepared }) => prepared.id !== this.#prepared?.id || this.#sent.has(prepared.id ?? ""));
    byId("outbox").replaceChildren(...others.map(({ prepared, map }) => this.#entry(prepared, map)));
  }

  #entry(prepared: Prepared, map: string): HTMLElement {
    const sent = this.#sent.has(prepared.id ?? "");
    const again = make("button", { type: "button", class: "plain" }, sent ? "Send it" : "Show it");
    on(again, "click", () => (sent ? this.#ask(prepared, map) : this.#showAgain(prepared, map)), this.#failed);
    const drop = make("button", { type: "button", class: "plain" }, "Discard");
    on(drop, "click", async () => {
      await this.#engine.forget(prepared.id ?? "");
      await this.showWaiting();
    }, this.#failed);
    const state = sent ? "waits for the network" : "was drawn earlier and has no answer";
    const text = `A release of ${thousands(prepared.data.length)} bytes ${state}. It is charged already; sending it costs nothing more.`;
    return make("li", {}, make("span", {}, text), make("span", { class: "buttons" }, again, drop));
  }

  /** What this tab has not shown is shown before it is sent. */
  async #showAgain(prepared: Prepared, map: string): Promise<void> {
    await this.#show(prepared, map);
    await this.showWaiting();
  }

  async showSpent(): Promise<void> {
    const { spent, exact, left, budget, trouble } = await this.#engine.account(chosen().budget);
    if (budget < chosen().budget) byId<HTMLInputElement>("budget").value = String(budget);
    byId("spent-bar").style.width = `${Math.min(100, (100 * spent) / budget)}%`;
    tell(
      byId("spent"),
      trouble ??
        `N·ε = ${thousands(spent)} spent, the ε of all keypoints protected here added up; counted exactly, E = ${short(exact)} except with ` +
          `probability 10⁻⁶. N·ε = ${thousands(left)} left of ${thousands(budget)}. A budget can be lowered, never raised.`,
    );
  }
}
