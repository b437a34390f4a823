/**
 * The page without a network. It keeps the page's own files, never an answer of the server, and a
 * new version waits until the person takes it: the page cannot change under an open tab.
 */

/// <reference lib="webworker" />

declare const __VERSION__: string;
declare const __FILES__: readonly string[];
const worker = self as unknown as ServiceWorkerGlobalScope;
const NAME = `sfumato-${__VERSION__}`;

worker.addEventListener("install", (event) => {
  event.waitUntil(keep());
});

async function keep(): Promise<void> {
  const cache = await caches.open(NAME);
  await cache.addAll(__FILES__.map((name) => new Request(name, { cache: "reload" })));
}

worker.addEventListener("activate", (event) => {
  event.waitUntil(forgetOthers());
});

async function forgetOthers(): Promise<void> {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith("sfumato-") && name !== NAME);
  await Promise.all(old.map((name) => caches.delete(name)));
  await worker.clients.claim();
}

worker.addEventListener("message", (event) => {
  if (event.data === "take over") void worker.skipWaiting();
});

worker.addEventListener("fetch", (event) => {
  const address = new URL(event.request.url);
  const scope = new URL(worker.registration.scope);
  const own = address.origin === scope.origin && address.pathname.startsWith(scope.pathname);
  if (own && event.request.method === "GET") event.respondWith(fromHere(event.request));
});

async function fromHere(request: Request): Promise<Response> {
  const cache = await caches.open(NAME);
  const asked = request.mode === "navigate" ? "./" : request;
  return (await cache.match(asked, { ignoreSearch: true, ignoreVary: true })) ?? fetch(request);
}
