import { type } from "@jecho/client";

/** What the model raises at each step. */
export const Field = type("Field", {
  step: "uint32",
  rows: "uint32",
  columns: "uint32",
  values: "float32[]",
});
