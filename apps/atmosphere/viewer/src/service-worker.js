/*
 * Keeps what the page begins with, so that an installed page starts without a network, too, and says then that it has none. What
 * has a hash in its name is taken from there; the page itself only where the gateway does not answer.
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

self.addEventListener("fetch", event => {
  const { method, mode, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== "GET" || origin !== location.origin) return;
  if (mode === "navigate") event.respondWith(fetch(event.request).catch(() => caches.match("/")));
  else if (FILES.includes(pathname))
    event.respondWith(caches.match(pathname).then(kept => kept ?? fetch(event.request)));
});
