import { ModulatorEnvironment } from "@jecho/modulators/browser";
import type { CreateEnvironment } from "./face.ts";

export const createEnvironment: CreateEnvironment = (options, events) =>
  new ModulatorEnvironment(options, events);
