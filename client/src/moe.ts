/**
 * Base classes for modulators that are written as classes beside their consumers; see `modulatorFrom`. Where this is
 * imported, as by `import type {} from "@jecho/client/moe"`, TypeScript also knows "jecho:moe", which modulators in
 * files of their own import.
 */
export { FifoModulator, Modulator, urgent } from "@jecho/modulators/moe";
