import { type Browser, expect } from "@playwright/test";

/** Ends every SharedWorker of the browser as the death of its process does: no page is told anything. */
export async function killSharedWorkers(browser: Browser): Promise<void> {
  const session = await browser.newBrowserCDPSession();
  const alive = async (): Promise<string[]> => {
    const { targetInfos } = await session.send("Target.getTargets");
    return targetInfos.filter(({ type }) => type === "shared_worker").map(({ targetId }) => targetId);
  };
  const workers = await alive();
  for (const targetId of workers) {
    const { sessionId } = await session.send("Target.attachToTarget", { targetId });
    const message = JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression: "close()" } });
    await session.send("Target.sendMessageToTarget", { sessionId, message });
  }
  await expect.poll(async () => (await alive()).filter(id => workers.includes(id))).toEqual([]);
  await session.detach();
}
