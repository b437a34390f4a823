/** The page stays when the network goes: a service worker keeps its files. */

import { make } from "./dom.ts";

/** Keep the page; where a new version waits, say so and let the person take it. */
export async function installPage(notice: HTMLElement): Promise<void> {
  // Without TLS, and in some private windows, there is none: the page works, but not offline.
  const container = navigator.serviceWorker as ServiceWorkerContainer | undefined;
  if (container === undefined || !import.meta.env.PROD) return;
  let registration: ServiceWorkerRegistration;
  try {
    registration = await container.register("./sw.js", { scope: "./", updateViaCache: "none" });
  } catch {
    return;
  }
  if (registration.waiting !== null) offer(registration.waiting, notice);
  registration.addEventListener("updatefound", () => {
    const coming = registration.installing;
    coming?.addEventListener("statechange", () => {
      if (coming.state === "installed" && container.controller !== null) offer(coming, notice);
    });
  });
}

function offer(waiting: ServiceWorker, notice: HTMLElement): void {
  const take = make("button", { type: "button", class: "plain" }, "Use it");
  take.addEventListener("click", () => {
    navigator.serviceWorker.addEventListener("controllerchange", () => { location.reload(); }, { once: true });
    waiting.postMessage("take over");
  });
  notice.replaceChildren("The server has another version of this page; the one you have stays until you take it. ", take);
  notice.hidden = false;
}
