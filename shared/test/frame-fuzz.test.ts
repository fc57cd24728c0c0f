import { fuzz, mutated } from "@jecho/e2e/fuzz";
import { sampleFrame } from "@jecho/e2e/sample-frames";
import type { JechoError } from "@jecho/shared";
import { joinFrames, parseMessage } from "@jecho/shared/internal";
import { test } from "vitest";

const [MESSAGES, CHANGES] = [50, 40];
/** How long a message may take, and how often it is tried where the machine has other things to do. */
const [LONGEST_MS, TRIES] = [1, 100];

/** @returns how many frames were taken */
function parse(message: Uint8Array): number {
  let frames = 0;
  try {
    parseMessage(message, () => frames++);
  } catch (error) {
    if ((error as JechoError).code !== "FRAME_MALFORMED") throw error;
  }
  return frames;
}

function timed(message: Uint8Array): [frames: number, ms: number] {
  const began = performance.now();
  const frames = parse(message);
  return [frames, performance.now() - began];
}

test("F15, WIRE-5: messages that are changed in any way are taken or refused, each in less than a millisecond", async () => {
  await fuzz("frames", 4, dice => {
    let tried = 0;
    for (let i = 0; i < MESSAGES; i++) {
      const frames = Array.from({ length: 1 + dice.below(4) }, () => sampleFrame(dice));
      const whole = joinFrames(frames);
      for (let changes = 0; changes < CHANGES; changes++) {
        const message = mutated(dice, whole);
        let [taken, ms] = timed(message);
        for (let times = 1; ms > LONGEST_MS && times < TRIES; times++) ms = timed(message)[1];
        if (ms > LONGEST_MS) throw new Error(`a message takes ${ms} ms`);
        tried += taken + 1;
      }
    }
    return tried;
  });
});
