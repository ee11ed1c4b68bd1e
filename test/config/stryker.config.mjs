// Mutation testing of the parts that everything rests on, one folder of src/ at a time: `SEALDEX_MUTATE=crypto npm run mutation`.

export default {
  testRunner: "vitest",
  vitest: { configFile: "test/config/vitest.config.ts", related: false },
  plugins: ["@stryker-mutator/vitest-runner"],
  mutate: [`src/{,state/}${process.env.SEALDEX_MUTATE}/**/*.ts`],
  // It would rewrite paths in this file with an interface that TypeScript 7 no longer has; ours need no rewriting.
  tsconfigFile: "none",
  // Vitest does not check types, so there is nothing to switch off in the copies.
  disableTypeChecks: false,
  // What is computed when a module is loaded would need every test for each mutant.
  ignoreStatic: true,
  coverageAnalysis: "perTest",
  concurrency: 1,
  // A rerun tries only mutants whose source or tests have changed.
  incremental: true,
  incrementalFile: `node_modules/.stryker-incremental/${process.env.SEALDEX_MUTATE}.json`,
  dryRunTimeoutMinutes: 60,
  timeoutMS: 10_000,
  timeoutFactor: 4,
  reporters: ["clear-text"],
  clearTextReporter: { allowColor: false, reportTests: false },
  thresholds: { high: 90, low: 90, break: 90 },
  tempDirName: "node_modules/.stryker",
  cleanTempDir: "always",
  ignorePatterns: ["packages/server/dist", "packages/model/dist", "docs", "bench", "examples", ".sealdex"],
};
