import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "@playwright/test";
import { expect, test, view } from "./fixtures.ts";

const START = fileURLToPath(new URL("../../apps/atmosphere/src/start.ts", import.meta.url));

/** `npm start -- --users` at a free port: the addresses that it prints, by user. */
async function start(): Promise<{ child: ChildProcess; addresses: ReadonlyMap<string, string> }> {
  const child = fork(START, ["--port", "0", "--users"], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
  const addresses = new Map<string, string>();
  let said = "";
  for await (const chunk of child.stdout ?? []) {
    said += String(chunk);
    for (const [, user = "", address = ""] of said.matchAll(/The (\w+) [^\n]*:\n {2}(http:\S+)\n/g))
      addresses.set(user, address);
    if (said.includes("Ctrl-C ends it")) break;
  }
  return { child, addresses };
}

async function openAs(
  browser: Browser,
  address: string | undefined,
): Promise<{ page: Page; asked: string[] }> {
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  const asked: string[] = [];
  page.on("request", request => asked.push(request.url()));
  page.on("websocket", socket => asked.push(socket.url()));
  await page.goto(`${address}`);
  await expect(view(page, "map")).toHaveAttribute("data-state", /live|paused/);
  return { page, asked };
}

test("a viewer, a steerer and an operator see three different pages, and who did what", async ({
  browser,
}) => {
  const { child, addresses } = await start();
  try {
    expect([...addresses.keys()]).toEqual(["viewer", "steerer", "operator"]);
    const viewer = await openAs(browser, addresses.get("viewer"));
    const steerer = await openAs(browser, addresses.get("steerer"));
    const operator = await openAs(browser, addresses.get("operator"));
    const token = new URL(addresses.get("viewer") ?? "").hash.slice("#token=".length);
    // No server is told a token by an address, and nobody reads it there.
    expect(viewer.page.url()).not.toContain("token");
    expect(viewer.asked.filter(url => url.includes(token))).toEqual([]);

    await expect(viewer.page.getByTestId("look-on")).toContainText("viewer looks on");
    await expect(viewer.page.getByTestId("pause")).toHaveCount(0);
    await expect(steerer.page.getByTestId("pause")).toBeEnabled();
    await expect(operator.page.getByTestId("pause")).toBeEnabled();
    for (const [{ page }, isOperator] of [
      [viewer, false],
      [steerer, false],
      [operator, true],
    ] as const) {
      for (const subject of ["viewer", "steerer", "operator"])
        await expect(page.getByTestId("people").locator(`[data-subject="${subject}"]`)).toBeVisible();
      await expect(page.getByRole("button", { name: "End", exact: true })).toHaveCount(isOperator ? 2 : 0);
    }

    await steerer.page.getByTestId("month").selectOption({ label: "Set mid July" });
    await expect(viewer.page.getByTestId("notice")).toHaveText(/^day \d+\.\d, steerer: it is July$/);
    await operator.page.getByTestId("month").selectOption({ label: "Set mid May" });
    await expect(viewer.page.getByTestId("notice")).toHaveText(/, operator: it is May$/);
    await steerer.page.getByTestId("pause").click();
    await expect(viewer.page.getByTestId("page")).toHaveAttribute("data-state", "paused");
    await steerer.page.getByTestId("pick").click();
    await steerer.page.getByTestId("surface-map").click({ position: { x: 120, y: 100 } });
    await steerer.page.getByTestId("add-source").click();
    await expect(viewer.page.getByTestId("source-list")).toContainText("by steerer");
    await expect(viewer.page.getByRole("button", { name: /^Remove source/ })).toHaveCount(0);

    // Another device goes on as the same user.
    await steerer.page.getByTestId("hand-over").click();
    const link = await steerer.page.getByTestId("handover-link").inputValue();
    const elsewhere = await openAs(browser, link);
    await expect(elsewhere.page.getByTestId("subject")).toHaveText("as steerer");
    await expect(elsewhere.page.getByTestId("pause")).toBeEnabled();
    expect(elsewhere.page.url()).not.toMatch(/token|handover/);
    await expect(steerer.page.getByTestId("page")).toHaveAttribute("data-state", "handed-over");
    await elsewhere.page.context().close();

    // A page that comes without a token asks for one.
    const stranger = await (await browser.newContext()).newPage();
    await stranger.goto(new URL("/#channel=atmosphere/status", addresses.get("operator")).href);
    await expect(stranger.getByTestId("sign-in")).toContainText("takes those alone who bring a token");
    // People are given a link, not a token.
    await stranger.getByTestId("token").fill(` ${addresses.get("operator")}\n`);
    await stranger.getByRole("button", { name: "Open" }).click();
    await expect(stranger.locator('tr[data-field="step"]')).toBeVisible();
    await stranger.context().close();

    // A reload needs no link again, and an operator can end it all.
    await viewer.page.reload();
    await expect(viewer.page.getByTestId("subject")).toHaveText("as viewer");
    await operator.page
      .locator('[data-subject="viewer"]')
      .getByRole("button", { name: "End", exact: true })
      .click();
    await expect(operator.page.getByTestId("people-said")).toContainText("viewer had 1 connection");
    await expect(viewer.page.getByTestId("sign-in")).toContainText("An operator ended the connections");
    await viewer.page.getByTestId("token").fill("none");
    await viewer.page.getByRole("button", { name: "Open" }).click();
    await expect(viewer.page.getByTestId("sign-in")).toContainText("does not take the token");
    for (const { page } of [viewer, steerer, operator]) await page.context().close();
  } finally {
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  }
});
