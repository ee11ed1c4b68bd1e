/** Measures the service: requests, open indexes, trainings, and the memory of its client. */

import type { EmbeddedClient } from "sealdex/core";
import type { Server } from "../http/http-server.js";
import type { Metrics } from "./metrics.js";
import type { OpenIndexes } from "../indexes/open-indexes.js";
import { whenEnded } from "../http/request-end.js";
import type { Trainings } from "../indexes/trainings.js";

export function measure(app: Server, metrics: Metrics, indexes: OpenIndexes, trainings: Trainings): void {
  app.addHook("onRequest", (request, reply, done) => {
    metrics.begin();
    whenEnded(reply, () => metrics.end(request, reply));
    done();
  });
  metrics.gauge("sealdex_open_indexes", "Indexes that are kept open.", () => indexes.count);
  metrics.measuredRecall(() => indexes.leastRecall());
  metrics.gauge("sealdex_trainings_running", "Trainings that run now.", () => trainings.running.length);
}

/** The memory of the service's client: cache and kernels. */
export function measureCache(metrics: Metrics, client: EmbeddedClient): void {
  const memory = () => client.memory();
  metrics.gauge("sealdex_cache_bytes", "Opened blocks in memory.", () => memory().cacheBytes);
  metrics.gauge("sealdex_cache_bytes_max", "The limit of opened blocks.", () => memory().cacheBytesMax);
  metrics.gauge("sealdex_kernel_bytes", "In use in the memory of the kernels.", () => memory().kernelBytes);
  metrics.counter("sealdex_cache_lookups_total", "Lookups of opened blocks.", () => memory().cacheLookups);
  metrics.counter(
    "sealdex_cache_misses_total",
    "Lookups of opened blocks that had to read from storage.",
    () => memory().cacheMisses,
  );
}
