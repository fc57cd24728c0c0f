/**
 * Takes what a link carries behind its # out of the address bar and the history at once: no server gets to see that, and nobody who looks over
 * a shoulder or copies the address.
 */
export function takeFromFragment(name: string): string | undefined {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const value = fragment.get(name);
  if (value === null || value === "") return undefined;
  fragment.delete(name);
  const rest = fragment.toString();
  history.replaceState(
    history.state,
    "",
    location.pathname + location.search + (rest === "" ? "" : `#${rest}`),
  );
  return value;
}
