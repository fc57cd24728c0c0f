import { defineConfig } from "@playwright/test";
import { findChromium, launchOptions } from "./src/browser.ts";

export default defineConfig({
  testDir: "test",
  outputDir: "test-results",
  // A page that has not a core for itself is sent the newest pictures alone (SLOW-5), and some tests are about all of them.
  workers: 1,
  retries: 0,
  // A condition is waited for as long as a loaded machine may need.
  timeout: 300_000,
  expect: { timeout: 60_000 },
  forbidOnly: !!process.env["CI"],
  use: {
    browserName: "chromium",
    headless: true,
    launchOptions: launchOptions(findChromium()),
    // A page that does not come says so, and which it was, before its test is over.
    navigationTimeout: 120_000,
    screenshot: "only-on-failure",
    // A trace films the page, which takes as much as all of its own drawing: `--trace retain-on-failure` asks for one.
    trace: "off",
  },
});
