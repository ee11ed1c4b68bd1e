import { defineConfig } from "vitest/config";
import { common } from "./vitest.config.js";

/** `npm run test:coverage`: which branches of the two folders on which everything else rests are taken by tests of behaviour. */
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: [
      "test/{crypto,format}/*.test.ts",
      "test/index/{anchors,rotate-key,tampering,wraps}.test.ts",
      "test/protocol/{collect,commit,disturbed,manifest-borders,simulation}.test.ts",
    ],
    env: { SEALDEX_SEEDS: "20" },
    provide: { tier: "fast", servers: {} },
    coverage: {
      enabled: true,
      reportOnFailure: true,
      provider: "v8",
      include: ["src/crypto/**", "src/commit/**"],
      reporter: ["text"],
      reportsDirectory: "node_modules/.coverage",
    },
  },
});
