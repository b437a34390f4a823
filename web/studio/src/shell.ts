/** What every tab may ask of the page around it. */

/** How long work reports and is stopped. */
export interface Work {
  /** Aborted by the button "Cancel", by a newer piece of work of the same tab, and when the tab is left. */
  readonly signal: AbortSignal;
  /** How far it is, from 0 to 1; null where nobody knows. */
  progress(part: number | null): void;
}

export type Theme = "light" | "dark";

export interface Shell {
  /** One sentence below the tabs; an empty one clears it. */
  say(message: string): void;
  /** What went wrong, in one sentence. An aborted piece of work is not an error and says nothing. */
  fail(error: unknown): void;
  /** A line with a bar: `part` from 0 to 1, null where nobody knows; 1 removes it. */
  progress(label: string, part: number | null): void;
  /**
   * Long work with a bar and a button to cancel it; errors are told by `fail`. A new piece of work
   * stops the last one. Undefined where it was stopped or failed.
   */
  run<T>(label: string, work: (work: Work) => Promise<T>): Promise<T | undefined>;
  /** Write settings of the tab into the address, so that it can be copied; null removes one. Does not call `update`. */
  setSettings(changes: Readonly<Record<string, string | number | null>>): void;
  /** What is shown now, whether chosen here or by the system. */
  readonly theme: Theme;
  /** Call this when the theme changes, until the tab is left. */
  onTheme(changed: (theme: Theme) => void): void;
  /** Files dropped anywhere on the page go to this tab, and `area` is marked while they hover. */
  onDrop(area: HTMLElement, taken: (dropped: DataTransfer) => void): void;
  /** A file that lies beside the page ("words/open-64k.tar"). One sentence where it is missing. */
  fetchAsset(path: string, work?: Partial<Work>): Promise<Uint8Array<ArrayBuffer>>;
  /** Aborted when the tab is left. */
  readonly left: AbortSignal;
}

/** A tab that is shown. */
export interface Mounted {
  /** The address has other settings: show those. */
  update(settings: URLSearchParams): void;
}

/** `web/studio/src/TAB/tab.ts` exports this as `mount`. The container is empty and stays the tab's own. */
export type Mount = (container: HTMLElement, settings: URLSearchParams, shell: Shell) => Promise<Mounted>;
