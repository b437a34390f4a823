/** What the page does with pictures and with its server, on top of the device package. */

import {
  Client,
  Composition,
  DELTA,
  filterFeatures,
  Ledger,
  Mismatch,
  preparedFrom,
  SMALL_OBJECT,
  SubsetMechanism,
  type Box,
  type Camera,
  type Dictionary,
  type Features,
  type FilterSettings,
  type Localization,
  type MapInfo,
  type MapPoints,
  type Picture,
  type Prepared,
  type Progress,
} from "@sfumato/device";
import { sentence } from "./dom.ts";
import { Extractor } from "./extractor.ts";
import type { Cost } from "./sentences.ts";
import type { Chosen } from "./settings.ts";

/** What this browser has spent. */
export interface Account {
  readonly spent: number;
  /** E of everything together at δ = 10⁻⁶. */
  readonly exact: number;
  readonly left: number;
  readonly budget: number;
  /** Why nothing can be counted, or null. */
  readonly trouble: string | null;
}

const SQUARE = 80; // pixels: about a small face
const ANY_EPSILON = 1; // of a client that draws nothing

export class Engine {
  /** Numbers of words of the dictionary that can be chosen; none before a map is used. */
  levels: readonly number[] = [];
  readonly #server: string;
  readonly #pin: string;
  readonly #extractor = new Extractor();
  #key = "";
  #dictionary: Dictionary | null = null;
  #client: { readonly made: Client; readonly settings: string; readonly key: string } | null = null;

  /** `pin` is the fingerprint of the words that the page trusts. */
  constructor(server: string, pin: string) {
    this.#server = server;
    this.#pin = pin;
  }

  useKey(key: string): void {
    this.#key = key;
  }

  maps(): Promise<readonly MapInfo[]> {
    return this.#clientFor(null).maps();
  }

  /** No map is used: nothing can be protected. */
  leaveMap(): void {
    this.#dictionary = null;
    this.levels = [];
  }

  /** Refuse a map with other words than the page's own; fetch those, once. */
  async useMap(map: MapInfo, progress: Progress): Promise<void> {
    if (!map.dictionaries.some(({ fingerprint }) => fingerprint === this.#pin)) {
      throw new Mismatch("this map is asked with other words than this page trusts, so it is not asked; its operator can serve open-64k.");
    }
    this.#dictionary = await this.#clientFor(null).words(progress);
    this.levels = this.#dictionary.sizes;
  }

  /** Some points of a map; a map that cannot be drawn can still be asked. */
  async points(map: MapInfo): Promise<MapPoints> {
    try {
      return await this.#clientFor(null).points(map.id);
    } catch {
      return { points: [], up: [0, 0, 1] };
    }
  }

  extract(picture: Picture, progress: Progress): Promise<Features> {
    return this.#extractor.extract(picture, progress);
  }

  /** The keypoints that these settings let out. */
  select(found: Features, chosen: Chosen, boxes: readonly Box[]): Features {
    const filters: FilterSettings[] = [{ keep: "outside", boxes, margin: 0, reach: 1 }];
    if (chosen.density !== null) filters.push({ keep: "density", count: chosen.density, side: SQUARE });
    filters.push({ keep: chosen.spread ? "spread" : "strongest", count: chosen.maxKeypoints });
    return filterFeatures(found, filters);
  }

  /** What so many keypoints cost with these settings; null while the words are not known. */
  cost(chosen: Chosen, keypoints: number): Cost | null {
    if (this.#dictionary === null || keypoints === 0) return null;
    const { epsilon } = chosen;
    const numWords = chosen.numWords ?? this.#dictionary.sizeFor(epsilon, 1);
    const composed = (count: number): Composition => new Composition([{ epsilon, numValues: numWords, subsetSize: 1, count }]);
    const seenBy = Math.min(SMALL_OBJECT, keypoints, chosen.density ?? SMALL_OBJECT);
    return {
      ...{ epsilon, numWords, keypoints, seenBy },
      subsetSize: 1,
      keepProbability: new SubsetMechanism(epsilon, numWords).keepProbability,
      exact: composed(keypoints).epsilon(),
      delta: DELTA,
      advantage: composed(seenBy).advantage,
    };
  }

  /** Charge and draw. Kept in this browser, not sent. */
  async prepare(kept: Features, camera: Camera, chosen: Chosen, map: MapInfo, progress: Progress): Promise<Prepared> {
    const { budget } = await this.account(chosen.budget); // another visit may have lowered it
    const prepared = await this.#clientFor({ ...chosen, budget }).prepare({ image: kept, camera, map: map.id }, progress);
    if (prepared === null) throw new Error("the picture has no keypoints; nothing was charged.");
    return prepared;
  }

  /** Send exactly these bytes; nothing is drawn and nothing is charged. */
  send(prepared: Prepared, chosen: Chosen, map: string): Promise<Localization> {
    return this.#clientFor({ ...chosen, epsilon: prepared.cost.epsilonPerUnit ?? chosen.epsilon }).send(prepared, map);
  }

  /** Releases that were drawn and not answered yet, with the map they are for; none without a key. */
  async waiting(): Promise<readonly { readonly prepared: Prepared; readonly map: string }[]> {
    if (this.#key === "") return [];
    const found = await this.#clientFor(null).waiting().catch(() => []); // where nothing is kept, nothing waits
    return found.flatMap(({ data, id, map }) => {
      try {
        return [{ prepared: preparedFrom(data, { id }), map: map ?? "" }];
      } catch {
        void this.forget(id); // damaged: it can never be sent
        return [];
      }
    });
  }

  async forget(id: string): Promise<void> {
    await this.#clientFor(null).forget(id);
  }

  /** What was spent in this browser, by all its tabs. */
  async account(budget: number): Promise<Account> {
    try {
      const ledger = await Ledger.open();
      const { caps, composition, epsilon } = await ledger.spent();
      ledger.close();
      const most = Math.min(caps.session ?? Infinity, budget);
      return { spent: epsilon, exact: composition.epsilon(), left: Math.max(0, most - epsilon), budget: most, trouble: null };
    } catch (error) {
      return { spent: 0, exact: 0, left: 0, budget, trouble: sentence(error) };
    }
  }

  /** A client with these settings; with none, any: for questions that nothing is drawn for. */
  #clientFor(chosen: Pick<Chosen, "epsilon" | "numWords" | "budget"> | null): Client {
    const settings = chosen === null ? (this.#client?.settings ?? "") : JSON.stringify([chosen.epsilon, chosen.numWords, chosen.budget]);
    if (this.#client?.settings !== settings || this.#client.key !== this.#key) {
      void this.#client?.made.close();
      const made = new Client({
        server: this.#server,
        key: this.#key,
        dictionary: this.#pin,
        epsilon: chosen?.epsilon ?? ANY_EPSILON,
        numWords: chosen?.numWords ?? undefined,
        ledger: chosen === null ? {} : { caps: { session: chosen.budget } },
        patience: { deadline: 60, tries: 2 },
      });
      this.#client = { made, settings, key: this.#key };
    }
    return this.#client.made;
  }
}
