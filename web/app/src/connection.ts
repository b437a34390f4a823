/** The server, its key and its maps. The key is in sessionStorage: this tab's, gone with it. */

import type { MapInfo } from "@sfumato/device";
import { byId, make, tell } from "./dom.ts";
import type { Engine } from "./engine.ts";

const KEY = "sfumato-key";
const MAP = "sfumato-map";

/** What the page's head names: the server, or where the page came from; and the words it trusts. */
export function trusted(): readonly [server: string, pin: string] {
  const named = (name: string) => document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? "";
  const server = named("sfumato-server");
  return [new URL(server === "" ? ".." : server, document.baseURI).href, named("sfumato-dictionary")];
}

export class Connection {
  #maps: readonly MapInfo[] = [];
  readonly #engine: Engine;
  readonly #changed: (map: MapInfo | null) => Promise<void>;
  readonly #key = byId<HTMLInputElement>("key");
  readonly #map = byId<HTMLSelectElement>("map");

  constructor(engine: Engine, changed: (map: MapInfo | null) => Promise<void>) {
    this.#engine = engine;
    this.#changed = changed;
    byId("server-name").textContent = new URL(trusted()[0]).host;
    this.#key.value = remembered(KEY);
    engine.useKey(this.#key.value);
  }

  get map(): MapInfo | null {
    return this.#maps.find((map) => map.id === this.#map.value) ?? null;
  }

  get hasKey(): boolean {
    return this.#key.value !== "";
  }

  /** Ask for the maps of this key. */
  async connect(): Promise<void> {
    const key = this.#key.value.trim();
    this.#engine.useKey(key);
    this.#maps = (await this.#engine.maps()).filter((map) => map.accepts.includes("words") && map.extractor === "sift");
    remember(KEY, key);
    const known = remembered(MAP);
    this.#map.replaceChildren(...this.#maps.map((map) => make("option", { value: map.id }, map.name)));
    this.#map.disabled = this.#maps.length === 0;
    if (this.#maps.some((map) => map.id === known)) this.#map.value = known;
    const count = this.#maps.length;
    tell(byId("connected"), count === 0 ? "Connected; this key has no map that takes words of SIFT." : "Connected.");
    await this.choose();
  }

  async choose(): Promise<void> {
    if (this.map !== null) remember(MAP, this.map.id);
    await this.#changed(this.map);
  }
}

/** Kept for this tab alone. Private windows may refuse even this; the page then asks again. */
export function remembered(name: string): string {
  try {
    return sessionStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

export function remember(name: string, value: string): void {
  try {
    sessionStorage.setItem(name, value);
  } catch {
    // Not kept: it has to be typed again after the tab is reloaded.
  }
}
