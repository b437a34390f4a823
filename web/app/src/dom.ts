/** Elements of the page. Text is always text: nothing here reads HTML. */

/** The element with this id; a page without it is broken. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- who asks knows the kind of element
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found as T;
}

/** A new element with some attributes and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A list of facts: name and value, one below the other. */
export function showFacts(list: HTMLElement, facts: readonly (readonly [string, string])[]): void {
  list.replaceChildren(...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

/** A sentence for people; empty text hides it. */
export function tell(place: HTMLElement, text: string, kind: "error" | "note" = "note"): void {
  place.textContent = text;
  place.hidden = text === "";
  place.classList.toggle("is-error", kind === "error");
}

/** Run this when a control is used; what goes wrong is told in one sentence. */
export function on(
  target: EventTarget,
  event: string,
  action: (event: Event) => unknown,
  failed: (error: unknown) => void,
): void {
  target.addEventListener(event, (happened) => {
    void (async () => {
      try {
        await action(happened);
      } catch (error) {
        failed(error);
      }
    })();
  });
}

/** One sentence about anything that was thrown. */
export function sentence(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const whole = text.trim() === "" ? "something failed without a reason" : text.trim();
  const begun = whole.charAt(0).toUpperCase() + whole.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** A number for people: three digits, or all digits before the point. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "∞";
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

export function thousands(value: number): string {
  return Math.round(value).toLocaleString("en");
}
