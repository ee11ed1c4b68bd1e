/** Benchmarks whose size can be set run to their end: nobody runs all of them after every change. They need a build. */

import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

test.each([["bench/cold/main.mjs", { COUNT: "200", D: "4" }]])("%s", async (program, sizes) => {
  const env = { ...process.env, ...sizes };
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", program], {
    cwd: root,
    env,
  });
  expect(stdout).toContain("|---|");
});
