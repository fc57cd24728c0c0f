/** What modulators see of the module "jecho:fbs". */
export { schemaFromFbs } from "@jecho/shared/fbs";
