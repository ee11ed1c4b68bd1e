/** Opens the stores of a client, and makes the parts that its indexes share. */

import { embeddedClientOptions } from "../api/method-options.js";
import type { EmbeddedClientOptions } from "../api/vector-index.js";
import { checkInteger, invalid, typeName } from "../checks/input.js";
import { takeOptions } from "../checks/option-names.js";
import { Models } from "../embedding/models.js";
import { useKernelThreads } from "../engine/threads/kernel-threads.js";
import { BlockCache, cacheBytesDefault } from "../state/cache/block-cache.js";
import type { Clock } from "../state/commit/clock.js";
import { historyMs } from "../state/commit/retention.js";
import type { SearchShards } from "../query/shard-search.js";
import type { BlobStore } from "../storage/blob-store.js";
import { isBlobStore, isPrivate, openLocation } from "../storage/location.js";
import { storageTimeoutMsDefault } from "../storage/retrying.js";
import { makeRoom } from "./maintenance/gc.js";
import { OrphanSweeps } from "./maintenance/orphans.js";
import { maintenanceJobs } from "./maintenance-jobs.js";
import type { ClientResources, ClientStores } from "./open/client-resources.js";
import { JobRunner } from "./open/job-runner.js";
import { Listings } from "./open/listings.js";
import { QuerySamples } from "./open/query-samples.js";

const storageTimeoutMsMax = 24 * 60 * 60 * 1000;

export interface ClientParts {
  readonly stores: ClientStores;
  readonly resources: ClientResources;
  readonly sweeps: OrphanSweeps;
  readonly models: Models;
  /** Stops work in the background, and closes the stores that were opened here. */
  close(): Promise<void>;
}

/** Throws `invalid_request`. */
export function openParts(
  given: EmbeddedClientOptions,
  clock: Clock,
  searchShards?: SearchShards,
): ClientParts {
  const options = takeOptions(given, embeddedClientOptions);
  const { indexLocation, configLocation, anchorLocation, cacheBytesMax = cacheBytesDefault() } = options;
  const {
    maxStalenessMs = 0,
    storageTimeoutMs = storageTimeoutMsDefault,
    automaticTraining = true,
    retentionMs = isPrivate(indexLocation) ? 0 : historyMs,
    oblivious = false,
  } = options;
  checkInteger(cacheBytesMax, 0, Number.MAX_SAFE_INTEGER, "cacheBytesMax");
  checkInteger(storageTimeoutMs, 1, storageTimeoutMsMax, "storageTimeoutMs");
  checkInteger(maxStalenessMs, 0, Number.MAX_SAFE_INTEGER, "maxStalenessMs");
  checkInteger(retentionMs, 0, historyMs, "retentionMs");
  for (const [name, value] of Object.entries({ automaticTraining, oblivious })) {
    if (typeof value !== "boolean") throw invalid(`${name}: expected a boolean, got ${typeName(value)}`);
  }
  const indexStore = openLocation(indexLocation, storageTimeoutMs);
  const configStore =
    configLocation === undefined ? indexStore : openLocation(configLocation, storageTimeoutMs);
  const anchorStore =
    anchorLocation === undefined ? undefined : openLocation(anchorLocation, storageTimeoutMs);
  // A caller's own store stays open.
  const owned = new Set<BlobStore>();
  if (!isBlobStore(indexLocation)) owned.add(indexStore);
  if (configLocation !== undefined && !isBlobStore(configLocation)) owned.add(configStore);
  if (anchorStore && !isBlobStore(anchorLocation)) owned.add(anchorStore);

  const runner = new JobRunner(clock);
  const samples = new QuerySamples(clock, runner);
  const cache = new BlockCache(cacheBytesMax);
  const releaseThreads = useKernelThreads();
  const models = new Models(options.models);
  return {
    stores: { indexStore, configStore, anchorStore },
    resources: {
      cache,
      clock,
      listings: new Listings(clock),
      maxStalenessMs,
      retentionMs,
      oblivious,
      runner,
      samples,
      searchShards,
      jobsOf: (index) => maintenanceJobs(index, automaticTraining),
      makeRoom,
    },
    sweeps: new OrphanSweeps(runner, clock),
    models,
    close: async () => {
      samples.close();
      await runner.close();
      await cache.close();
      await Promise.all([releaseThreads(), models.close(), ...Array.from(owned, (store) => store.close())]);
    },
  };
}
