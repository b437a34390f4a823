/** The page around the tabs: which one is shown, what it says, how far it is. */

import { byId, make, sentence, tell } from "../../app/src/dom.ts";
import { fetchAsset } from "./assets.ts";
import type { Mounted, Shell, Work } from "./shell.ts";
import { hashOf, routeOf, TABS, type Tab } from "./tabs.ts";
import { ThemeSwitch } from "./theme.ts";

const themes = new ThemeSwitch(byId<HTMLButtonElement>("theme"));
let shown: { readonly tab: Tab; readonly leave: AbortController; mounted: Mounted | null } | null = null;
let hash = "";
let working: AbortController | null = null;
let taker: { readonly area: HTMLElement; readonly taken: (dropped: DataTransfer) => void } | null = null;

function progress(label: string, part: number | null): void {
  const bar = byId<HTMLProgressElement>("progress");
  byId("progress-label").textContent = label;
  if (part === null) bar.removeAttribute("value");
  else bar.value = part;
  byId("working").hidden = part !== null && part >= 1;
  byId("cancel").hidden = working === null;
}

function fail(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  tell(byId("problem"), sentence(error), "error");
}

async function run<T>(label: string, left: AbortSignal, work: (work: Work) => Promise<T>): Promise<T | undefined> {
  working?.abort();
  const own = (working = new AbortController());
  const leave = (): void => { own.abort(); };
  left.addEventListener("abort", leave);
  tell(byId("problem"), "");
  document.body.setAttribute("aria-busy", "true");
  progress(label, null);
  try {
    const signal = own.signal;
    return await work({ signal, progress: (part) => { if (working === own) progress(label, part); } });
  } catch (error) {
    if (!own.signal.aborted) fail(error);
    return undefined;
  } finally {
    left.removeEventListener("abort", leave);
    if (working === own) {
      working = null;
      progress("", 1);
      document.body.removeAttribute("aria-busy");
    }
  }
}

function shellFor(tab: Tab, left: AbortSignal): Shell {
  const isShown = (): boolean => !left.aborted;
  return {
    say: (message) => { if (isShown()) tell(byId("notice"), message); },
    fail: (error) => { if (isShown()) fail(error); },
    progress: (label, part) => { if (isShown()) progress(label, part); },
    run: (label, work) => run(label, left, work),
    setSettings: (changes) => {
      if (!isShown()) return;
      const { settings } = routeOf(location.hash) ?? { settings: new URLSearchParams() };
      for (const [name, value] of Object.entries(changes)) {
        if (value === null) settings.delete(name);
        else settings.set(name, String(value));
      }
      hash = hashOf(tab.name, settings);
      history.replaceState(null, "", hash);
      remember(tab.name, hash);
    },
    get theme() { return themes.theme; },
    onTheme: (changed) => { themes.listen(changed, left); },
    onDrop: (area, taken) => { if (isShown()) taker = { area, taken }; },
    fetchAsset,
    left,
  };
}

async function show(): Promise<void> {
  if (location.hash === "#content") {
    history.replaceState(null, "", hash);
    byId("content").focus();
    return;
  }
  if (location.hash === hash && shown !== null) return;
  hash = location.hash;
  tell(byId("problem"), "");
  const route = routeOf(hash);
  tell(byId("lost"), route === null ? "This address names no part of the studio; here is the first one." : "", "error");
  const tab = TABS.find(({ name }) => name === route?.name) ?? TABS[0];
  if (tab === undefined) return;
  const settings = route?.settings ?? new URLSearchParams();
  remember(tab.name, hashOf(tab.name, settings));
  if (shown?.tab === tab && shown.mounted !== null) {
    shown.mounted.update(settings);
    return;
  }
  await mount(tab, settings);
}

async function mount(tab: Tab, settings: URLSearchParams): Promise<void> {
  shown?.leave.abort();
  working = null;
  taker = null;
  document.body.removeAttribute("aria-busy");
  progress("", 1);
  tell(byId("notice"), "");
  const here: NonNullable<typeof shown> = { tab, leave: new AbortController(), mounted: null };
  shown = here;
  mark(tab);
  const container = make("div", { class: "tab", id: `tab-${tab.name}` });
  byId("content").replaceChildren(container);
  try {
    const { mount: mountTab } = await tab.load();
    if (here.leave.signal.aborted) return;
    here.mounted = await mountTab(container, settings, shellFor(tab, here.leave.signal));
  } catch (error) {
    if (!here.leave.signal.aborted) fail(error);
  }
}

/** The links of the tabs keep the settings that each was left with. */
function remember(name: string, address: string): void {
  document.getElementById(`link-${name}`)?.setAttribute("href", address);
}

function mark(tab: Tab): void {
  document.title = `${tab.title} · sfumato studio`;
  document.body.dataset["tab"] = tab.name;
  for (const { name } of TABS) {
    const link = byId(`link-${name}`);
    if (name === tab.name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** The whole page takes files: beside the picture a browser would leave the page for the file. */
function acceptDrops(): void {
  for (const name of ["dragover", "dragleave", "drop"] as const) {
    document.addEventListener(name, (event) => {
      const dropped = event.dataTransfer;
      if (dropped?.types.includes("Files") !== true) return;
      event.preventDefault();
      taker?.area.classList.toggle("is-over", name === "dragover");
      if (name !== "drop") return;
      if (taker === null) fail(new Error("This part of the studio opens no files; nothing was opened."));
      else taker.taken(dropped);
    });
  }
}

function start(): void {
  byId("version").textContent = __PAGE_VERSION__;
  byId("tabs").replaceChildren(
    ...TABS.map(({ name, question, title }) =>
      make("li", {}, make("a", { id: `link-${name}`, href: `#${name}` }, make("b", {}, title), make("span", {}, question))),
    ),
  );
  byId("cancel").addEventListener("click", () => { working?.abort(); });
  acceptDrops();
  addEventListener("hashchange", () => void show());
  void show();
}

start();
