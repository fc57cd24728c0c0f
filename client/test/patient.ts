/**
 * Deadlines that no busy machine makes a modulator miss: MOE-11 has it start anew then, without the state that it had, and few
 * tests are about that.
 */
export const PATIENT = { limits: { callMs: 5000, installMs: 5000 } };
