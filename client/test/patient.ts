/**
 * Deadlines that no busy machine makes a modulator miss: MOE-11 has it start anew then, without the state that it had, and few
 * tests are about that.
 */
export const PATIENT = { limits: { callMs: 5000, installMs: 5000 } };

/** Waits that no busy machine cuts short: which producers are left out is what few tests are about. */
export const PATIENT_GATEWAY = { installTimeoutMs: 100_000, requestTimeoutMs: 200_000 };
