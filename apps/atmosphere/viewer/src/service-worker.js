/*
 * Keeps what the page begins with, so that an installed page starts without a network, too, and says then that it has none. What
 * has a hash in its name is taken from there; the page itself only where the gateway does not answer, or a proxy says so in its stead.
 */

/** Of this build: put in when the page is built. */
const FILES = [];
const PAGES = "page ";
const CACHE = PAGES + FILES.join(" ");

self.addEventListener("install", event => {
  event.waitUntil(caches.open(CACHE).then(cache => cache.addAll(FILES)));
  self.skipWaiting();
});

self.addEventListener("activate", event => {
  const tidy = async () => {
    // The page's own caches, of pictures that were seen, are the page's to tidy.
    for (const name of await caches.keys())
      if (name.startsWith(PAGES) && name !== CACHE) await caches.delete(name);
  };
  event.waitUntil(tidy());
});

/** What proxies answer with in the stead of a gateway that is away. */
const AWAY = [502, 503, 504];

const page = async request => {
  const answer = await fetch(request).catch(() => undefined);
  const isThere = answer !== undefined && !AWAY.includes(answer.status);
  return isThere ? answer : ((await caches.match("/")) ?? answer ?? Response.error());
};

self.addEventListener("fetch", event => {
  const { method, mode, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== "GET" || origin !== location.origin) return;
  if (mode === "navigate") event.respondWith(page(event.request));
  else if (FILES.includes(pathname))
    event.respondWith(caches.match(pathname).then(kept => kept ?? fetch(event.request)));
});
