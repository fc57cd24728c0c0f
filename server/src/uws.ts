/** Loads uWebSockets.js, or says which platforms its binary serves. */
export async function loadUws(): Promise<typeof import("uWebSockets.js")> {
  try {
    return await import("uWebSockets.js");
  } catch (error) {
    throw new Error(
      `The gateway's WebSocket server has no binary for ${process.platform} ${process.arch} with Node ${process.versions.node}. ` +
        "It serves Linux with glibc (x64, arm64), macOS (x64, arm64) and Windows (x64), on Node 22.",
      { cause: error },
    );
  }
}
