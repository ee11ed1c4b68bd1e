import { defineConfig } from "vitest/config";
import { common } from "./vitest.config.js";

/** `npm run test:coverage`: that every branch of the two folders on which everything else rests is taken by tests of behaviour. */
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: [
      "test/crypto/*.test.ts",
      "test/protocol/{anchor-store,anchored-commits,anchored-history,index-folder,late-commits,namespace-secrets,read-object,stored-generations,turns}.test.ts",
      "test/protocol/manifest{,-borders,-log,-reader}.test.ts",
      "test/format/fields.test.ts",
    ],
    provide: { tier: "fast", servers: {} },
    coverage: {
      enabled: true,
      reportOnFailure: true,
      provider: "v8",
      include: ["src/crypto/**", "src/commit/**"],
      reporter: ["text"],
      thresholds: { branches: 100 },
      reportsDirectory: "node_modules/.coverage",
    },
  },
});
