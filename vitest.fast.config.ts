import { configDefaults, defineConfig } from "vitest/config";
import ClosingReporter from "./test/closing-reporter.js";
import { common } from "./vitest.config.js";

/** Suites that take several seconds of a processor each: they test in depth what the fast tier tests in short. */
const slow = [
  "crypto/wycheproof",
  "dashboard/{accessibility,admin-routes,audit-pages,browser}",
  "embedding/{images,packages,questions,real-models,static-model}",
  "engine/{code-layout,coded,scalar,training}",
  "format/{format,golden}",
  "http/{api-keys,behaviour,binary,body,client,client-requests,command-line,cyborgdb,faults,index-key,key-copies,langchain,list-keys,models,processes,published-clients,requests,results,service-log,shared-storage,tls,wraps}",
  "index/{anchors,automatic-training,batch,codes-only,concurrency,declared-recall,far-queries,filtered-search,leakage,list-ids,namespace-erasure,numeric-borders,oblivious,order,precision,recall,reencrypt,refinement,tampering,warm-search,words-after-merge,wraps}",
  "keys/{key-providers,schedules}",
  "langchain/{documentation,maximal-marginal-relevance,standard}",
  "operations/{abort,benchmarks,bounded-reads,cold-storage,compact,compact-large,due-segments,kernel-calls,retention,soak,soak-service}",
  "options/{fake-timers,other-realms}",
  "protocol/{crash,disturbed,kill,mixed-load,processes}",
  "readme",
  "search/cold-scan",
  "segment/{columns,gather-terms,id-table}",
  "storage/{conformance,gcs,local,location,object-store,outage}",
  "tamper/{attacker,blocks,classified}",
  "text/analyzer",
  "threads/kernel-threads",
  "types/typescript",
];

/** Suites that look at the memory of their process, or that set or count what its modules share. */
const alone = [
  "engine/{assign-coded,memory}",
  "fuzz/library",
  "http/{canary,tracing}",
  "index/{cache,second-lists}",
  "operations/close",
  "search/{held-memory,hidden-rows,open-snapshots,query-steps,scan-list-blocks,searcher,snapshot}",
  "segment/pieces",
];

const files = (names: readonly string[]) => names.map((name) => `test/${name}.test.ts`);

const skips =
  "Skipped here: the slow suites, tests that need Redis, PostgreSQL or S3 servers, and most rounds of some others. " +
  "npm run test:all runs everything.";

const tier = { ...common.test, provide: { tier: "fast" as const, servers: {} } };

/**
 * `npm test`: 90 seconds on two cores are the aim, with everything else of the script. Most suites share a process, which
 * saves loading the sources for each; `npm run test:all` gives each its own.
 */
export default defineConfig({
  test: {
    maxWorkers: "100%",
    reporters: [new ClosingReporter({ skips })],
    projects: [
      {
        resolve: common.resolve,
        test: {
          ...tier,
          name: "shared",
          isolate: false,
          exclude: [...configDefaults.exclude, ...files([...slow, ...alone])],
        },
      },
      { resolve: common.resolve, test: { ...tier, name: "alone", include: files(alone) } },
    ],
  },
});
