import type { CreateProduction } from "../concentrator/parts.ts";

/** Loads the parts of a page's concentrator that produce events: most pages only subscribe. */
export async function loadProduction(): Promise<CreateProduction> {
  return (await import("../concentrator/production.ts")).createProduction;
}
