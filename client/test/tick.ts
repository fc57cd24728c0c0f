import { type } from "@jecho/client";

export const Tick = type("Tick", { n: "uint32", note: "string" });
