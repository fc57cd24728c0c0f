import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";
import { printable } from "../src/screen.ts";
import { runCommand } from "./run-command.ts";

test("others' words write nothing of their own into the terminal", async () => {
  expect(printable("\u001b]52;c;b3duZWQ=\u0007\u001b[2K\rall is\nwell\u009b2K \u202egod\u2028!")).toBe(
    " ]52;c;b3duZWQ= [2K all is well 2K  god !",
  );
  expect(printable("# the modulator runs beside the gateway (größer – 温度)")).toBe(
    "# the modulator runs beside the gateway (größer – 温度)",
  );
  await using gateway = await createGateway();
  const { err, code } = await runCommand(["types", "a\u001b[2K\rall is\nwell", "--gateway", gateway.address]);
  expect(err).toContain("jecho: CHANNEL_NAME_INVALID: ");
  expect(err.trimEnd()).not.toMatch(/\p{Cc}/u);
  expect(code).toBe(1);
});
