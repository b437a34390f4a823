/** Pieces that several tabs are made of. */

import { make } from "../../app/src/dom.ts";

/** A labelled choice; values and their texts. */
export function select(id: string, label: string, options: readonly (readonly [string, string])[], help = ""): { readonly field: HTMLElement; readonly input: HTMLSelectElement } {
  const input = make("select", { id }, ...options.map(([value, text]) => make("option", { value }, text)));
  const field = make("div", { class: "field" }, make("label", { for: id }, label), input);
  if (help !== "") {
    field.append(make("p", { class: "small help", id: `${id}-help` }, help));
    input.setAttribute("aria-describedby", `${id}-help`);
  }
  return { field, input };
}

/** The slider of ε, which every tab shows alike. */
export function epsilonSlider(describedBy: string, ends: readonly [string, string] = ["more private", "found more often"]): { readonly field: HTMLElement; readonly input: HTMLInputElement; readonly shown: HTMLOutputElement } {
  const shown = make("output", { for: "epsilon" });
  const input = make("input", { id: "epsilon", type: "range", min: "1", max: "12", step: "0.5", "aria-describedby": describedBy });
  const field = make(
    "div",
    { class: "field" },
    make("label", { for: "epsilon" }, "Privacy per keypoint: ε = ", shown),
    input,
    make("p", { class: "ends small", "aria-hidden": "true" }, make("span", {}, ends[0]), make("span", {}, ends[1])),
    make("p", { class: "small help" }, "ε (epsilon) limits how much each word may give away: the lower, the more often a word is wrong on purpose, and the harder a server finds the place."),
  );
  return { field, input, shown };
}

export function button(text: string, kind: "main" | "plain", act: () => void): HTMLButtonElement {
  const made = make("button", { type: "button", class: kind }, text);
  made.addEventListener("click", act);
  return made;
}

/** Saves bytes or text as a file: by the browser, on this machine. */
export function saveFile(name: string, content: BlobPart, type: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => { URL.revokeObjectURL(address); }, 60_000);
}
