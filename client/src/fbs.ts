/** Types from and to text in FlatBuffers' schema language. */
export { fbsOf, schemaFromFbs, typeFromFbs } from "@jecho/shared/fbs";
