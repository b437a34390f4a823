/** A place on a server: its points, and the answer to a release that was made in Protect or opened here. */

import { Client, preparedFrom, type Localization, type MapInfo } from "@sfumato/device";
import { remember, remembered, trusted } from "../../../app/src/connection.ts";
import { make } from "../../../app/src/dom.ts";
import { button, select } from "../parts.ts";
import type { Shell } from "../shell.ts";
import { Cloud } from "./cloud.ts";
import type { Model } from "./model.ts";
import { Unreadable } from "./problem.ts";

const KEY = "sfumato-key";
const NO_SERVER =
  "This page was opened without a server. “sfumato studio --server ADDRESS” names one; then its maps can be chosen here and asked. Folders and files work without.";

/** What the tab does with what a server tells. */
export interface Takes {
  place(model: Model): void;
  answer(answer: Localization, data: Uint8Array<ArrayBuffer>): void;
  /** The release that would be sent, or null. */
  release(): Uint8Array<ArrayBuffer> | null;
}

export class ServerCard {
  readonly element: HTMLElement;
  readonly #shell: Shell;
  readonly #takes: Takes;
  readonly #key = make("input", { id: "place-key", type: "password", autocomplete: "off", spellcheck: "false", placeholder: "sfk_…" });
  readonly #map = select("place-map", "Map", [["", "connect first"]]);
  readonly #ask = button("Ask with the release", "main", () => void this.#send());
  readonly #about = make("p", { class: "small", id: "place-asks" });
  #maps: readonly MapInfo[] = [];

  constructor(shell: Shell, takes: Takes) {
    this.#shell = shell;
    this.#takes = takes;
    this.#ask.id = "place-ask";
    this.#map.input.disabled = true;
    this.#key.value = remembered(KEY);
    const [server] = trusted();
    const named = document.querySelector<HTMLMetaElement>('meta[name="sfumato-server"]')?.content ?? "";
    const title = make("h3", {}, "From a server");
    if (named === "") {
      this.element = make("div", {}, title, make("p", { class: "small" }, NO_SERVER));
      return;
    }
    const form = make("form", { class: "place-connect", autocomplete: "off" },
      make("div", { class: "field" }, make("label", { for: "place-key" }, "API key"), this.#key),
      make("button", { type: "submit", class: "plain" }, "Connect"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#connect();
    });
    this.#map.input.addEventListener("change", () => void this.#show());
    this.element = make("div", {}, title, form, this.#map.field, make("div", { class: "buttons" }, this.#ask),
      this.#about, make("p", { class: "small" }, `The key stays in this tab and goes to ${new URL(server).host} only, which learns what a release says and nothing else.`));
    this.refresh();
  }

  /** Another release, or none, can be sent. */
  refresh(): void {
    const release = this.#takes.release();
    this.#ask.disabled = release === null || this.#map.input.value === "";
    this.#about.textContent = release === null
      ? "Nothing to ask with yet: draw a release in Protect, or open a release file."
      : `Sending the release of ${release.length.toLocaleString("en")} bytes draws nothing new and costs nothing more.`;
  }

  #client(release: Uint8Array<ArrayBuffer> | null): Client {
    const [server, dictionary] = trusted();
    // Nothing is drawn here: ε is that of the release that is sent.
    const epsilon = release === null ? 1 : (preparedFrom(release).cost.epsilonPerUnit ?? Infinity);
    return new Client({ server, key: this.#key.value.trim(), dictionary, epsilon, ledger: "uncounted", patience: { deadline: 60, tries: 2 } });
  }

  async #connect(): Promise<void> {
    await this.#shell.run("Asking for maps", async () => {
      const client = this.#client(null);
      this.#maps = await client.maps();
      await client.close();
      if (this.#maps.length === 0) throw new Unreadable("This key has no map on the server.");
      remember(KEY, this.#key.value.trim());
      this.#map.input.replaceChildren(...this.#maps.map((map) => make("option", { value: map.id }, map.name)));
      this.#map.input.disabled = false;
    });
    if (this.#maps.length > 0) await this.#show();
  }

  async #show(): Promise<void> {
    const map = this.#maps.find(({ id }) => id === this.#map.input.value);
    if (map === undefined) return;
    this.refresh();
    const model = await this.#shell.run("Fetching points", async () => {
      const client = this.#client(null);
      const { points, up } = await client.points(map.id);
      await client.close();
      const cloud = new Cloud(false);
      for (const [x, y, z] of points) cloud.add(x, y, z);
      const kept = cloud.finish("this map");
      const note = points.length === 0
        ? "The server's operator hides the points of this map; a pose is shown alone."
        : `The server shows ${points.length.toLocaleString("en")} of ${map.numPoints.toLocaleString("en")} points, without colours and cameras.`;
      return { kind: "server" as const, name: map.name, cameras: [], up, total: map.numPoints, ...kept, notes: [...kept.notes, note] };
    });
    if (model !== undefined) this.#takes.place(model);
  }

  async #send(): Promise<void> {
    const [release, map] = [this.#takes.release(), this.#map.input.value];
    if (release === null || map === "") return;
    const answer = await this.#shell.run("Asking the server", async () => {
      const client = this.#client(release);
      try {
        return await client.send(release, map);
      } finally {
        await client.close();
      }
    });
    if (answer !== undefined) this.#takes.answer(answer, release);
  }
}
