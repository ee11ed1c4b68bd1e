/**
 * How the tests run. The variable `SEALDEX_TIER` chooses which, and npm scripts set it:
 *
 * - `fast` (`npm test`): suites that need no server and are short;
 * - `all` (`npm run test:all`): every suite, on every server;
 * - `coverage`, `mutation`: suites of the folders on which everything else rests;
 * - `integrations` (`node scripts/check-integrations.mjs`): suites of the packages that connect others' projects, on the build;
 * - none: the suites whose names are given, in the short form of the fast tier.
 *
 * Suites named `*.slow.test.ts` take several seconds of a processor each. Those named `*.alone.test.ts` look at the memory of
 * their process, or set or count what its modules share. The time limits are for tests that hang: none may depend on
 * how fast the machine is.
 */

import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";
import ClosingReporter from "./closing-reporter.js";

type Test = NonNullable<ViteUserConfig["test"]>;

const root = fileURLToPath(new URL("../..", import.meta.url));
const source = (path: string) => `${root}src/${path}`;

/** Another copy of LangChain's core to test with, by its name in node_modules/: the oldest that the package allows. */
const otherCore = process.env.SEALDEX_LANGCHAIN_CORE;

/** The server under test uses the sources, not the build: one copy of every class. */
const resolve = {
  alias: {
    "sealdex-model": `${root}packages/model/src/index.ts`,
    "sealdex/core": source("core.ts"),
    "sealdex/wire": source("service.ts"),
    ...(otherCore && { "@langchain/core": otherCore }),
  },
};

const common: Test = {
  root,
  include: ["test/**/*.test.ts"],
  testTimeout: 600_000,
  hookTimeout: 600_000,
  // CommonJS, which only Node reads.
  server: { deps: { external: [/model\/dist\//] } },
  provide: { tier: "fast", servers: {} },
};

const skips =
  "tests that need Redis, PostgreSQL or S3 servers, and most rounds of some suites. npm run test:all runs everything.";

const slow = "test/**/*.slow.test.ts";
const alone = "test/**/*.alone.test.ts";

/** Short suites share a process: it saves loading the sources for each. */
function projects(test: Test, others: string[]): ViteUserConfig["test"] & object {
  return {
    projects: [
      {
        resolve,
        test: { ...test, name: "shared", isolate: false, exclude: [...configDefaults.exclude, slow, alone] },
      },
      { resolve, test: { ...test, name: "alone", include: others } },
    ],
  };
}

const fast: Test = {
  ...projects(common, [alone]),
  maxWorkers: "100%",
  reporters: [new ClosingReporter({ skips: `Skipped here: the slow suites, ${skips}` })],
};

const all: Test = {
  ...projects({ ...common, provide: { tier: "all" } }, [slow, alone]),
  root,
  globalSetup: ["test/servers/global-setup.ts"],
  // Suites wait for servers and for processes that they start: more workers than processors keep these busy. Vitest takes
  // a percentage above 100 for 100.
  maxWorkers: availableParallelism() + 2,
  reporters: [new ClosingReporter()],
};

/** Suites of src/crypto/ and src/state/commit/ that work on the sources, in their own process, and are short. */
const unitSuites = {
  crypto: ["test/security/{padding,sealed-object,vectors,wycheproof.slow}.test.ts"],
  commit: [
    "test/protocol/{anchor-store,anchored-commits,anchored-history,group-secrets,index-folder,late-commits,namespace-secrets,reservations}.test.ts",
    "test/protocol/manifest{,-borders,-log,-reader}.test.ts",
  ],
};

/** Every branch of the two folders is taken by tests of behaviour. */
const coverage: Test = {
  ...common,
  include: [
    ...unitSuites.crypto,
    ...unitSuites.commit,
    "test/protocol/{read-object,stored-generations}.test.ts",
    "test/format/fields.test.ts",
    "test/collection/names.test.ts",
    "test/behavior/profile.test.ts",
  ],
  coverage: {
    enabled: true,
    reportOnFailure: true,
    provider: "v8",
    include: ["src/crypto/**", "src/state/commit/**"],
    reporter: ["text"],
    thresholds: { branches: 100 },
    reportsDirectory: "node_modules/.coverage",
  },
};

const mutation: Test = {
  ...common,
  include: unitSuites[process.env.SEALDEX_MUTATE === "commit" ? "commit" : "crypto"],
};

/** Those packages use Sealdex as their users do: its build, by its name. */
const integrations: Test = {
  ...common,
  include: ["packages/*/test/**/*.test.ts"],
  maxWorkers: "100%",
  reporters: [new ClosingReporter()],
};

const named: Test = { ...common, reporters: [new ClosingReporter({ skips: `Skipped here: ${skips}` })] };

const tiers: Readonly<Record<string, Test>> = { fast, all, coverage, mutation, integrations };

const tier = process.env.SEALDEX_TIER ?? "";

export default defineConfig({ resolve: tier === "integrations" ? {} : resolve, test: tiers[tier] ?? named });
