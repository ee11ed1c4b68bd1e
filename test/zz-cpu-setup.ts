import { afterAll, expect } from "vitest";
import { appendFileSync } from "node:fs";
const start = performance.now();
afterAll(() => {
  const { user, system } = process.cpuUsage();
  appendFileSync(
    "/tmp/h/cpu.txt",
    `${((user + system) / 1e6).toFixed(1)} ${((performance.now() - start) / 1000).toFixed(1)} ${expect.getState().testPath}\n`,
  );
});
