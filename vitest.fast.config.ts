import { configDefaults, defineConfig } from "vitest/config";
import ClosingReporter from "./test/closing-reporter.js";
import base from "./vitest.config.js";

/** Suites that take several seconds of a processor each: they test in depth what the fast tier tests in short. */
const slow = [
  "embedding/{images,packages,questions,real-models}",
  "http/{body,command-line,cyborgdb,faults,langchain,results}",
  "index/{automatic-training,codes-only,leakage,numeric-borders,tampering}",
  "keys/schedules",
  "langchain/{documentation,maximal-marginal-relevance,standard}",
  "operations/{abort,soak-service}",
  "protocol/{crash,disturbed,kill,mixed-load,processes}",
  "segment/columns",
  "storage/{conformance,gcs,outage}",
  "tamper/attacker",
  "types/typescript",
];

const skips =
  "Skipped here: the slow suites, tests that need Redis, PostgreSQL or S3 servers, and most rounds of some others. " +
  "npm run test:all runs everything.";

/** `npm test`: at most 90 seconds on two cores, with everything else of the script. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    exclude: [...configDefaults.exclude, ...slow.map((name) => `test/${name}.test.ts`)],
    reporters: [new ClosingReporter({ skips })],
  },
});
