/** The real thing: drawn once more, charged to the ledger of this browser, every byte shown, saved as a file. */

import { make, thousands } from "../../../app/src/dom.ts";
import { hexDump, sha256 } from "../../../app/src/leaving.ts";
import type { Choice, Made } from "../engine/messages.ts";
import { button, saveFile } from "../parts.ts";
import { session } from "../session.ts";
import type { Shell } from "../shell.ts";

const BEFORE =
  "What you see above is a rehearsal that nobody gets. A release is drawn once more, and its ε is written into the ledger of this browser before you get it. The ledger counts what you gave away, never money; what it has not counted does not leave.";

export class ReleaseCard {
  readonly element: HTMLElement;
  readonly #shell: Shell;
  readonly #choice: () => Choice;
  readonly #note = make("p", { id: "release-note", role: "status" }, BEFORE);
  readonly #draw: HTMLButtonElement;
  readonly #save: HTMLButtonElement;
  readonly #bytes = make("div", { hidden: "", id: "release-bytes" });
  #made: Made | null = null;

  constructor(shell: Shell, choice: () => Choice) {
    this.#shell = shell;
    this.#choice = choice;
    this.#draw = button("Make a release and count it", "main", () => void this.#release());
    this.#draw.id = "release-button";
    this.#save = button("Save as a file", "plain", () => { this.#download(); });
    this.#save.id = "save-button";
    this.#draw.disabled = this.#save.disabled = true;
    this.element = make(
      "section",
      { class: "card", "aria-labelledby": "release-title" },
      make("h2", { id: "release-title" }, "Release it as a file"),
      this.#note,
      make("div", { class: "buttons" }, this.#draw, this.#save),
      this.#bytes,
      make("p", { class: "small" }, "The file is what a server or Python reads: ", make("code", {}, "sfumato localize release.sfr"), " asks with it, ", make("code", {}, "sfumato attack release release.sfr"), " attacks it."),
    );
  }

  /** Other settings: what was drawn is not of them. */
  forget(): void {
    this.#made = null;
    this.#save.disabled = true;
    this.#bytes.hidden = true;
    this.#note.textContent = BEFORE;
  }

  offer(possible: boolean): void {
    this.#draw.disabled = !possible;
  }

  async #release(): Promise<void> {
    const { shown } = session;
    if (shown === null) return;
    this.#draw.disabled = true;
    const made = await this.#shell.run("Drawing", () => session.engine.protect({ choice: this.#choice(), lens: shown.lens, counted: true }));
    this.#draw.disabled = false;
    if (made === undefined || made === null) return;
    this.#made = session.release = made;
    const { cost, data, release } = made;
    const spent = thousands(cost.epsilonPerPicture ?? 0);
    this.#note.replaceChildren(
      `Counted: N·ε = ${thousands(cost.keypoints)} × ${release.epsilon} = ${spent}. These ${thousands(cost.bytes)} bytes may leave, as often as you like, for that one price. `,
      make("a", { href: "#ledger" }, "See the ledger"),
    );
    this.#bytes.replaceChildren(
      make("pre", { class: "bytes", id: "bytes", tabindex: "0", "aria-label": "Every byte of the release, in hexadecimal", role: "region" }, hexDump(data, release)),
      make("p", { class: "small digest" }, "SHA-256 of these bytes: ", make("code", { id: "digest" }, await sha256(data))),
    );
    this.#bytes.hidden = false;
    this.#save.disabled = false;
  }

  #download(): void {
    if (this.#made !== null) saveFile("release.sfr", this.#made.data, "application/octet-stream");
  }
}
