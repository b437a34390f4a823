/** The device's work from picture to bytes, in a worker or, where there is none, right here. */
import type { Camera } from "./camera.ts";
import type { Words } from "./dictionary/dictionary.ts";
import type { FilterSettings } from "./filters.ts";
import { Ledger, type LedgerOptions } from "./ledger.ts";
import type { Limits } from "./limits.ts";
import { loadNative } from "./native.ts";
import { WordSearch } from "./nearest.ts";
import { cameraFor, openPicture, type ImageSource } from "./picture.ts";
import { costOf, type Cost } from "./privacy/event.ts";
import { SecureRandom } from "./privacy/randomness.ts";
import { checkRecipe, protect, type Recipe, type Tools } from "./protect.ts";
import { Sift } from "./sift.ts";
import type { Features, Progress } from "./types.ts";
import { encode } from "./wire/wire.ts";

/** What an engine is started with; all of it can be sent to a worker. */
export interface EngineSettings {
  readonly recipe: Recipe;
  readonly words: Words;
  readonly limits: Limits;
  /** Where charges go; "uncounted": nothing is counted, because whoever embeds this said so. */
  readonly ledger: Omit<LedgerOptions, "factory"> | "uncounted";
  /** Where device.wasm lies, if not beside the code. */
  readonly wasm?: string | undefined;
}

/** One picture to protect. */
export interface ProtectRequest {
  /** A file, a frame, pixels, or features that were extracted before. */
  readonly image: ImageSource | Features;
  /** Intrinsics of the upright picture. Left out: guessed. */
  readonly camera?: Camera | undefined;
  /** Degrees that the longer side sees, instead of a camera. */
  readonly fieldOfView?: number | undefined;
  /** Larger pictures are made smaller first; 2,000,000 where none is given. */
  readonly maxPixels?: number | undefined;
  /** For this picture, after those of the recipe: boxes that a person drew, for instance. */
  readonly filters?: readonly FilterSettings[] | undefined;
}

/** What came of it: the bytes that may leave, and what they say about themselves. */
export interface ProtectedBytes {
  readonly data: Uint8Array<ArrayBuffer>;
  readonly cost: Cost;
  readonly camera: Camera;
  /** True where nobody gave a camera or a field of view. */
  readonly cameraGuessed: boolean;
}

/** Everything that takes time. One at a time: pictures wait for each other. */
export class Engine {
  readonly #settings: EngineSettings;
  readonly #tools: Tools;

  private constructor(settings: EngineSettings, tools: Tools) {
    this.#settings = settings;
    this.#tools = tools;
  }

  /** Compile, index the words and open the ledger; refuses what could never be released. */
  static async start(settings: EngineSettings, factory?: IDBFactory): Promise<Engine> {
    const { ledger, limits, recipe, words } = settings;
    checkRecipe(recipe, words, limits);
    const opened =
      ledger === "uncounted" ? ledger : await Ledger.open(factory === undefined ? ledger : { ...ledger, factory });
    const module = await loadNative(settings.wasm);
    return new Engine(settings, {
      extractor: new Sift(module, recipe.maxKeypoints === undefined ? {} : { maxKeypoints: recipe.maxKeypoints }),
      words,
      search: new WordSearch(module, words.words, words.centres ?? undefined),
      ledger: opened,
      random: new SecureRandom(),
      limits,
    });
  }

  /** Null where the picture has nothing to send; then nothing was charged. */
  async protect(request: ProtectRequest, progress?: Progress): Promise<ProtectedBytes | null> {
    const { image } = request;
    const given = "descriptors" in image;
    const opened = given
      ? { picture: { ...image, data: new Uint8Array() }, fullWidth: image.width, fullHeight: image.height }
      : await openPicture(image, request.maxPixels);
    const { camera, guessed } = cameraFor(opened, request.camera, request.fieldOfView);
    const { recipe } = this.#settings;
    const filters = [...(recipe.filters ?? []), ...(request.filters ?? [])];
    const input = given ? image : opened.picture;
    const release = await protect(input, camera, { ...recipe, filters }, this.#tools, progress);
    if (release === null) return null;
    const data = encode(release);
    return { data, cost: costOf(release, data.length), camera, cameraGuessed: guessed };
  }

  /** Let go of the ledger. */
  close(): void {
    if (this.#tools.ledger !== "uncounted") this.#tools.ledger.close();
  }
}
