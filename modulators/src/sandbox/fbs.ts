/** The module "jecho:fbs", as modulators see it. */
export { schemaFromFbs } from "@jecho/shared/fbs";
