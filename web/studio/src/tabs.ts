/** The parts of the studio, in the order of a first visit; each is loaded when it is opened. */

import type { Mount } from "./shell.ts";

export interface Tab {
  readonly name: string;
  readonly title: string;
  /** Said to who hovers or listens: what the tab answers. */
  readonly question: string;
  readonly load: () => Promise<{ readonly mount: Mount }>;
}

export const TABS: readonly Tab[] = [
  { name: "protect", title: "Protect", question: "What leaves?", load: () => import("./protect/tab.ts") },
  { name: "attack", title: "Attack", question: "What could a server paint?", load: () => import("./attack/tab.ts") },
  { name: "place", title: "Place", question: "Where would it find you?", load: () => import("./place/tab.ts") },
  { name: "frontier", title: "Frontier", question: "What does privacy cost?", load: () => import("./frontier/tab.ts") },
  { name: "ledger", title: "Ledger", question: "What was spent?", load: () => import("./ledger/tab.ts") },
  { name: "audit", title: "Audit", question: "Is the promise kept?", load: () => import("./audit/tab.ts") },
];

/** The tab and its settings that an address names: "#attack?epsilon=8". Null: no such tab. */
export function routeOf(hash: string): { readonly name: string; readonly settings: URLSearchParams } | null {
  const [name = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  if (name === "" || name === "content") return { name: TABS[0]?.name ?? "", settings: new URLSearchParams() };
  return TABS.some((tab) => tab.name === name) ? { name, settings: new URLSearchParams(query) } : null;
}

export function hashOf(name: string, settings: URLSearchParams): string {
  const query = settings.toString();
  return query === "" ? `#${name}` : `#${name}?${query}`;
}
