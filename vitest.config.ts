import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import ClosingReporter from "./test/closing-reporter.js";

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url));

/** Another copy of LangChain's core to test with, by its name in node_modules/: the oldest that the package allows. */
const otherCore = process.env.SEALDEX_LANGCHAIN_CORE;

/** What both tiers of the tests share. The time limits are for tests that hang: none may depend on how fast the machine is. */
export const common = {
  // The server under test uses the sources, not the build: one copy of every class.
  resolve: {
    alias: {
      "sealdex-model": fileURLToPath(new URL("model/src/index.ts", import.meta.url)),
      "sealdex/core": source("core.ts"),
      "sealdex/wire": source("service.ts"),
      ...(otherCore && { "@langchain/core": otherCore }),
    },
  },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // CommonJS, which only Node reads.
    server: { deps: { external: [/model\/dist\//] } },
  },
} satisfies ViteUserConfig;

const skips =
  "Skipped here: tests that need Redis, PostgreSQL or S3 servers, and most rounds of the slow suites. " +
  "npm run test:all runs everything.";

/** `vitest run` and its file names: every test that needs no server, so that it is the same on every machine. */
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    provide: { tier: "fast", servers: {} },
    reporters: [new ClosingReporter({ skips })],
  },
});
