import { expect, test } from "@playwright/test";
import { System } from "../src/system.ts";

test("MOE-20: where the simulation runs no modulators, a page cuts its views out itself, and says so", async ({
  page,
}) => {
  const system = await System.start("--modulators", "0");
  try {
    await page.goto(system.url);
    for (const kind of ["map", "globe", "section"]) {
      await expect(page.getByTestId(`view-${kind}`)).toHaveAttribute("data-state", "live");
      const gauge = page.getByTestId(`gauge-${kind}`);
      await expect(gauge).toHaveAttribute("data-placements", "consumer");
      await expect(page.getByTestId(`gauge-${kind}-remark`)).toHaveText(
        /Cut out here, of the whole field: .*the producer runs no modulators/,
      );
    }
    // It is the view all the same.
    await page.getByTestId("layer").fill("20");
    await expect(page.getByTestId("view-map")).toHaveAttribute("data-layer", "20");
  } finally {
    await system.stop();
  }
});
