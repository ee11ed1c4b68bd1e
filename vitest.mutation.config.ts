import { defineConfig } from "vitest/config";
import { common } from "./vitest.config.js";

/** What `npm run test:mutation` runs per folder: suites that work on the sources, in their own process, and are short. */
const suites: Readonly<Record<string, readonly string[]>> = {
  crypto: ["crypto/*"],
  commit: [
    "protocol/{anchor-store,anchored-commits,anchored-history,index-folder,late-commits,namespace-secrets,turns,vacated-lists}",
    "protocol/manifest{,-borders,-log,-reader}",
  ],
  search: ["search/*", "index/{expiry,namespaces,open-listed,order,shadow,words}", "text/text-query"],
};

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: suites[process.env.SEALDEX_MUTATE ?? ""].map((name) => `test/${name}.test.ts`),
    env: { SEALDEX_SEEDS: "4" },
    provide: { tier: "fast", servers: {} },
  },
});
