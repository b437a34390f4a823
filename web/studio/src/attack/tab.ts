/** Not built yet. */

import { make } from "../../../app/src/dom.ts";
import type { Mounted } from "../shell.ts";

export function mount(container: HTMLElement): Promise<Mounted> {
  container.append(make("p", {}, "This part is being built."));
  return Promise.resolve({ update: () => undefined });
}
