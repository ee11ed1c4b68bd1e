import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url));

/** Another copy of LangChain's core to test with, by its name in node_modules/: the oldest that the package allows. */
const otherCore = process.env.SEALDEX_LANGCHAIN_CORE;

export default defineConfig({
  // The server under test uses the sources, not the build: one copy of every class.
  resolve: {
    alias: {
      "sealdex/core": source("core.ts"),
      "sealdex/wire": source("wire.ts"),
      ...(otherCore && { "@langchain/core": otherCore }),
    },
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/servers/global-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
