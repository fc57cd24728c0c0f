/** What modulators extend, for those that are written as classes beside their consumers; see `modulatorFrom`. */
export { FifoModulator, Modulator, urgent } from "@jecho/modulators/moe";
