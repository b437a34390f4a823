/** What all tabs look at: one photograph, its keypoints, and the public words. In this tab, nowhere else. */

import type { Box, Features } from "@sfumato/device";
import { readPicture, type Taken } from "../../app/src/picture.ts";
import { Engine } from "./engine/engine.ts";
import type { Made } from "./engine/messages.ts";
import { EXAMPLES, type Example } from "./examples.ts";
import type { Shell, Work } from "./shell.ts";

/** Larger pictures are made smaller: finding keypoints in more takes long, and changes nothing that is shown. */
const MAX_PIXELS = 1_000_000;
const WORDS = "words/open-64k.tar";
const USUAL_LENS = 26; // the main camera of most phones

/** A photograph that is looked at. */
export interface Shown {
  readonly taken: Taken;
  readonly features: Features;
  readonly lens: number;
  /** Null: the person's own. */
  readonly example: Example | null;
}

class Session {
  readonly engine = new Engine();
  shown: Shown | null = null;
  /** Regions that were hidden by hand in what is shown. */
  boxes: readonly Box[] = [];
  /** The last release that was charged: Place may ask a server with it. */
  release: Made | null = null;
  #words: Promise<readonly number[]> | null = null;

  /** A photograph of the person, or one that comes with the page. */
  async open(source: Blob | Example, shell: Shell, work: Work): Promise<Shown> {
    const isExample = "file" in source;
    const file = isExample ? new Blob([await shell.fetchAsset(`examples/${source.file}`, { signal: work.signal })]) : source;
    const taken = await readPicture(file, MAX_PIXELS);
    const features = await this.engine.extract(taken.picture, (part) => { work.progress(part); });
    work.signal.throwIfAborted();
    this.boxes = [];
    this.shown = { taken, features, lens: taken.focal35 ?? USUAL_LENS, example: isExample ? source : null };
    return this.shown;
  }

  /** The photograph that an address names; what is shown already stays. */
  async openNamed(name: string, shell: Shell, work: Work): Promise<Shown> {
    const wanted = EXAMPLES.find((one) => one.name === name);
    const { shown } = this;
    if (shown !== null && (wanted === undefined || shown.example === wanted)) return shown;
    const first = wanted ?? EXAMPLES[0];
    if (first === undefined) throw new Error("the page has no example; choose a photograph.");
    return this.open(first, shell, work);
  }

  /** Numbers of words that can be chosen; the words are fetched once and checked against their fingerprint. */
  words(shell: Shell, work: Work): Promise<readonly number[]> {
    const fetching = (this.#words ??= shell.fetchAsset(WORDS, work).then((archive) => this.engine.useWords(archive, pinned())));
    fetching.catch(() => { this.#words = null; });
    return fetching;
  }
}

function pinned(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="sfumato-dictionary"]')?.content ?? "";
}

export const session = new Session();
