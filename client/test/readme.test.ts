import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startRig } from "./rig.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));

test("the README's producer and viewer run as they stand there", async () => {
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const [producer, viewer] = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code as string);
  await using rig = await startRig();
  // Inside the workspace, so that the packages are found.
  const folder = await mkdtemp(`${HERE}readme-`);
  const children: ChildProcess[] = [];
  const run = async (name: string, code: string | undefined): Promise<ChildProcess> => {
    const file = `${folder}/${name}.ts`;
    await writeFile(file, (code as string).replace("localhost:8080", rig.gateway.address));
    const child = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    return child;
  };
  try {
    await run("producer", producer);
    let said = "";
    (await run("viewer", viewer)).stdout?.on("data", chunk => {
      said += chunk;
    });
    await expect.poll(() => said).toMatch(/station 7: \d\d\.\d degrees/);
    await expect.poll(() => said).toMatch(/station 8: \d\d\.\d degrees/);
    expect(said).not.toMatch(/station [^78]:/);
  } finally {
    for (const child of children) child.kill();
    await rm(folder, { recursive: true });
  }
});
