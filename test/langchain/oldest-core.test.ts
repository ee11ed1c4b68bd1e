/** The oldest `@langchain/core` that the package allows, where it is installed beside the newest under an alias. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const aliases = ["langchain-core-1.0"].filter((name) => existsSync(join(root, "node_modules", name)));
const files = ["standard", "encrypted-vector-store", "maximal-marginal-relevance", "semantic-cache"];

test.each(aliases)(
  "the store passes its tests with %s",
  async (alias) => {
    const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
    const paths = files.map((name) => join("test", "langchain", `${name}.test.ts`));
    const { stdout } = await promisify(execFile)(process.execPath, [vitest, "run", ...paths], {
      cwd: root,
      env: { ...process.env, SEALDEX_LANGCHAIN_CORE: alias, NO_COLOR: "1" },
    }).catch((error: unknown) => error as { stdout: string });
    expect(stdout).toMatch(/Tests {2}\d+ passed \(\d+\)/);
    expect(stdout).not.toContain("failed");
  },
  300_000,
);

test("this run uses the core that it was told to", async () => {
  const { StructuredQuery } = await import("@langchain/core/structured_query");
  const theirs = await import(
    `../../node_modules/${process.env.SEALDEX_LANGCHAIN_CORE ?? "@langchain/core"}/dist/structured_query/index.js`
  );
  expect(StructuredQuery).toBe(theirs.StructuredQuery);
});
