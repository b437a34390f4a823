/** Ask a server where a picture was taken, without showing it. */
import { checkCount, checkEpsilon, checkFingerprint } from "../checks.ts";
import type { DatabaseOptions } from "../database.ts";
import { Device } from "../device.ts";
import { cachedDictionary, keepDictionary } from "../dictionary/cache.ts";
import { dictionaryFromTar, type Dictionary, type Words } from "../dictionary/dictionary.ts";
import type { ProtectRequest } from "../engine.ts";
import { BadAnswer, InvalidInput, Refused, ServerError, SfumatoError, Unreachable } from "../errors.ts";
import { Ledger, type LedgerOptions, type Spent } from "../ledger.ts";
import { checkAllowed, checkLeaving, checkLimits, type Limits } from "../limits.ts";
import type { Progress } from "../types.ts";
import { readAdvice, readAnswer, readMap, readMaps, readPoints } from "./answers.ts";
import type { Advice, Localization, MapInfo, MapPoints } from "./answers.ts";
import { Server, type ServerOptions } from "./ask.ts";
import { Outbox, type Waiting } from "./outbox.ts";
import { checkMap, follow, type Choice } from "./plan.ts";
import { preparedFrom, type Prepared } from "./prepared.ts";

/** What a client is made from. Nothing is sent yet. */
export interface ClientSettings extends Choice, Limits, ServerOptions, DatabaseOptions {
  /** The server's address, https:// unless it is this machine. */
  readonly server: string;
  /** An API key of its operator. */
  readonly key: string;
  /** The map that is asked where a call names no other: its name or id. */
  readonly map?: string | undefined;
  /** The fingerprint of the words you trust; a server's own word for it is not taken unseen. */
  readonly dictionary: string;
  /**
   * The account that is charged before anything is drawn: a session and its caps. "uncounted" is
   * the only way to send without counting.
   */
  readonly ledger?: Omit<LedgerOptions, keyof DatabaseOptions> | "uncounted" | undefined;
  /** Keep each release in this browser from its charge until its answer; as the ledger, unless it is "uncounted". */
  readonly outbox?: boolean | undefined;
  /** A longer dictionary is not read to its end; 256 MiB where none is given. */
  readonly maxDictionaryBytes?: number | undefined;
  /** Where device.wasm lies, and who makes the worker, if not beside the code. */
  readonly wasm?: string | undefined;
  readonly worker?: (() => Worker) | "none" | undefined;
}

/** What became of one waiting release: an answer, or an error and it still waits. */
export interface Outcome {
  readonly id: string;
  readonly localization: Localization | null;
  readonly error: SfumatoError | null;
}

/** Asks one server; may be used for many pictures. */
export class Client {
  readonly limits: Limits;
  readonly #settings: ClientSettings;
  readonly #server: Server;
  readonly #maps = new Map<string, MapInfo>();
  #choice: Choice;
  #dictionary: Promise<Dictionary> | undefined;
  #device: Promise<Device> | undefined;
  #ledger: Promise<Ledger> | undefined;
  #outbox: Promise<Outbox> | undefined;

  constructor(settings: ClientSettings) {
    const { epsilon, maxEpsilon, maxExact, minWords } = settings;
    checkEpsilon(epsilon, true);
    checkFingerprint(settings.dictionary);
    this.limits = { maxEpsilon: maxEpsilon ?? (Number.isFinite(epsilon) ? epsilon : undefined), maxExact, minWords };
    checkLimits(this.limits);
    checkAllowed(this.limits, epsilon, settings.numWords ?? null);
    this.#server = new Server(settings.server, settings.key, settings);
    this.#settings = settings;
    this.#choice = settings;
  }

  /** The words of this client: cached, or fetched once and verified. */
  words(progress?: Progress): Promise<Dictionary> {
    this.#dictionary ??= this.#findWords(progress).catch((error: unknown) => {
      this.#dictionary = undefined;
      throw error;
    });
    return this.#dictionary;
  }

  async #findWords(progress?: Progress): Promise<Dictionary> {
    const pin = this.#settings.dictionary;
    const cached = await cachedDictionary(pin, this.#settings);
    if (cached !== null) return cached;
    const maxBytes = checkCount("maxDictionaryBytes", this.#settings.maxDictionaryBytes ?? 1 << 28, 1);
    const found = await dictionaryFromTar(await this.#server.ask(`v1/dictionaries/${pin}`, { maxBytes, progress }), pin);
    await keepDictionary(pin, found, this.#settings);
    return found;
  }

  /** The words that are sent: the level that was chosen, else by ε. */
  async level(): Promise<Words> {
    const dictionary = await this.words();
    const { epsilon, numWords, subsetSize } = this.#choice;
    return numWords === undefined ? dictionary.atEpsilon(epsilon, subsetSize ?? 1) : dictionary.at(numWords);
  }

  /** Fetch words and start the worker now, so that the first picture need not wait. */
  async start(progress?: Progress): Promise<void> {
    await this.words(progress);
    await this.#protector();
  }

  #protector(): Promise<Device> {
    this.#device ??= this.#startDevice().catch((error: unknown) => {
      this.#device = undefined;
      throw error;
    });
    return this.#device;
  }

  async #startDevice(): Promise<Device> {
    const { database, factory, ledger = {}, wasm, worker } = this.#settings;
    const { epsilon, filters, maxKeypoints, subsetSize } = this.#choice;
    const kept = database === undefined ? {} : { database };
    return Device.start({
      recipe: { epsilon, filters, maxKeypoints, subsetSize },
      words: await this.level(),
      limits: this.limits,
      ledger: ledger === "uncounted" ? ledger : { ...ledger, ...kept },
      wasm,
      worker,
      factory,
    });
  }

  /** The maps this key may ask. */
  async maps(): Promise<MapInfo[]> {
    return readMaps(await this.#server.ask("v1/maps", { maxBytes: 1 << 24 }));
  }

  /** A map by its id or its name; asked once, then remembered. */
  async findMap(wanted?: string): Promise<MapInfo> {
    const name = wanted ?? this.#settings.map;
    if (name === undefined || name === "") throw new InvalidInput("say which map to ask: its name or id on the server.");
    let found = this.#maps.get(name);
    if (found === undefined && /^[A-Za-z0-9_-]{22}$/.test(name)) {
      try {
        found = readMap(await this.#server.ask(`v1/maps/${name}`));
      } catch (error) {
        if (!(error instanceof Refused && error.status === 404)) throw error;
      }
    }
    found ??= (await this.maps()).find((map) => name === map.id || name === map.name);
    if (found === undefined) throw new Refused("the server has no such map for this key.", 404);
    this.#maps.set(name, found);
    return found;
  }

  /** Some points of a map, to draw where a pose lies. */
  async points(map?: string): Promise<MapPoints> {
    const { id } = await this.findMap(map);
    return readPoints(await this.#server.ask(`v1/maps/${id}/points`, { maxBytes: 1 << 23 }));
  }

  /** What the server recommends for a map; nothing of it is taken. */
  async plan(map?: string): Promise<Advice> {
    const { id } = await this.findMap(map);
    const { epsilon } = this.#choice;
    const query = Number.isFinite(epsilon) ? `?epsilon=${epsilon}` : "";
    return readAdvice(await this.#server.ask(`v1/maps/${id}/plan${query}`, { maxBytes: 1 << 20, tries: 100 }));
  }

  /** Take the server's recommendation within this client's limits; what changed, in words. */
  async followPlan(map?: string): Promise<string[]> {
    const { changes, choice } = follow(this.#choice, await this.plan(map), this.limits, await this.words());
    this.#choice = choice;
    const device = this.#device;
    this.#device = undefined; // the next picture is protected with what was taken
    (await device)?.close();
    return changes;
  }

  /**
   * Charge and draw a release without sending it; null where a picture has no keypoints.
   *
   * Needs no network unless words are missing. Show `data` and `cost` to the person, then `send`.
   */
  async prepare(request: ProtectRequest & { readonly map?: string | undefined }, progress?: Progress): Promise<Prepared | null> {
    const { map, ...rest } = request;
    const outbox = await this.#keeps(); // opened before anything is charged
    const done = await (await this.#protector()).protect(rest, progress);
    if (done === null) return null;
    const prepared = preparedFrom(done.data, done);
    checkLeaving(prepared.release, this.limits, await this.words());
    const waiting = await outbox?.add(done.data, map ?? null).catch(() => null); // without room it can still be sent now
    return { ...prepared, id: waiting?.id ?? null };
  }

  /** Send a release that exists, as it is: nothing is drawn and nothing is charged. */
  async send(given: Prepared | Uint8Array<ArrayBuffer>, map?: string): Promise<Localization> {
    const prepared = given instanceof Uint8Array ? preparedFrom(given) : given;
    checkLeaving(prepared.release, this.limits, await this.words());
    try {
      const { id } = await this.findMap(map);
      const reply = await this.#server.ask(`v1/maps/${id}/localize`, { body: prepared.data });
      const answer = readAnswer(reply, prepared.release.keypoints.length / 2);
      if (prepared.id !== null) await (await this.#keeps())?.remove(prepared.id);
      return answer;
    } catch (error) {
      if (error instanceof Refused && [404, 409].includes(error.status)) this.#maps.clear(); // look anew
      throw error instanceof ServerError ? kept(error, prepared) : error;
    }
  }

  /**
   * Where was this picture taken? It is protected here; only words of it are sent.
   *
   * Without a network the release is kept, and the error says so; `flush` sends it later.
   */
  async localize(request: ProtectRequest & { readonly map?: string | undefined }, progress?: Progress): Promise<Localization> {
    let offline: Unreachable | null = null;
    try {
      checkMap(await this.findMap(request.map), await this.words());
    } catch (error) {
      if (!(error instanceof Unreachable) || (await this.#keeps()) === null) throw error;
      offline = error;
    }
    const prepared = await this.prepare(request, progress);
    if (prepared === null) {
      const reason = "the picture has no keypoints; nothing was charged or sent";
      const nothing = { pose: null, expectedError: null, warning: null, camera: null, searched: 1, inliers: null };
      return { ...nothing, reason, numInliers: 0, numMatches: 0, log10Chance: 0 };
    }
    if (offline !== null) throw kept(offline, prepared);
    return this.send(prepared, request.map);
  }

  /** The releases that wait for an answer, oldest first. */
  async waiting(): Promise<Waiting[]> {
    return (await (await this.#keeps())?.waiting()) ?? [];
  }

  /** Send what waits in the outbox, oldest first; what cannot be sent stays there. */
  async flush(): Promise<Outcome[]> {
    const locks = (globalThis.navigator as Navigator | undefined)?.locks;
    return locks === undefined ? this.#flush() : locks.request("sfumato-outbox", () => this.#flush());
  }

  async #flush(): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const { data, id, map } of await this.waiting()) {
      try {
        const localization = await this.send(preparedFrom(data, { id }), map ?? undefined);
        outcomes.push({ id, localization, error: null });
      } catch (error) {
        if (!(error instanceof SfumatoError)) throw error;
        outcomes.push({ id, localization: null, error });
        // The next release may fare better only where this one was the reason.
        const single = !(error instanceof ServerError) || (error instanceof Refused && [400, 403, 404, 409, 413, 422].includes(error.status));
        if (!single && !(error instanceof BadAnswer)) break;
      }
    }
    return outcomes;
  }

  /** Forget a release that waits; what it cost stays spent. */
  async forget(id: string): Promise<void> {
    await (await this.#keeps())?.remove(id);
  }

  /** What this browser has spent; null where nothing is counted. */
  async spent(): Promise<Spent | null> {
    const { ledger = {} } = this.#settings;
    if (ledger === "uncounted") return null;
    this.#ledger ??= Ledger.open({ ...this.#databases(), ...ledger });
    return (await this.#ledger).spent();
  }

  #keeps(): Promise<Outbox | null> {
    const { ledger, outbox = ledger !== "uncounted" } = this.#settings;
    if (!outbox) return Promise.resolve(null);
    this.#outbox ??= Outbox.open(this.#databases()).catch((error: unknown) => {
      this.#outbox = undefined;
      throw error;
    });
    return this.#outbox;
  }

  #databases(): DatabaseOptions {
    const { database, factory } = this.#settings;
    return { ...(database === undefined ? {} : { database }), ...(factory === undefined ? {} : { factory }) };
  }

  /** Stop the worker and let go of what is open. */
  async close(): Promise<void> {
    for (const open of [this.#device, this.#ledger, this.#outbox]) (await open?.catch(() => undefined))?.close();
  }
}

function kept<E extends ServerError>(problem: E, prepared: Prepared): E {
  problem.prepared = prepared;
  if (prepared.id !== null && problem instanceof Unreachable) {
    problem.message += " The release is kept in this browser; sending it costs nothing more.";
  }
  return problem;
}
