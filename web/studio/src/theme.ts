/** Light or dark: as the system says, until somebody chooses. */

import type { Theme } from "./shell.ts";

const KEPT = "sfumato-theme";

export class ThemeSwitch {
  readonly #button: HTMLButtonElement;
  readonly #system = matchMedia("(prefers-color-scheme: dark)");
  readonly #listeners = new Set<(theme: Theme) => void>();
  #chosen: Theme | null = remembered();

  constructor(button: HTMLButtonElement) {
    this.#button = button;
    button.addEventListener("click", () => {
      this.#chosen = this.theme === "dark" ? "light" : "dark";
      try {
        localStorage.setItem(KEPT, this.#chosen);
      } catch {
        // a browser that keeps nothing: the choice holds until the page is closed
      }
      this.#show();
    });
    this.#system.addEventListener("change", () => { this.#show(); });
    this.#show();
  }

  get theme(): Theme {
    return this.#chosen ?? (this.#system.matches ? "dark" : "light");
  }

  listen(changed: (theme: Theme) => void, until: AbortSignal): void {
    this.#listeners.add(changed);
    until.addEventListener("abort", () => this.#listeners.delete(changed));
  }

  #show(): void {
    document.documentElement.dataset["theme"] = this.theme;
    const other = this.theme === "dark" ? "Light" : "Dark";
    this.#button.textContent = other;
    this.#button.setAttribute("aria-label", `${other} colours`);
    for (const changed of this.#listeners) changed(this.theme);
  }
}

function remembered(): Theme | null {
  try {
    const kept = localStorage.getItem(KEPT);
    return kept === "light" || kept === "dark" ? kept : null;
  } catch {
    return null;
  }
}
