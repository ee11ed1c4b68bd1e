/** Measures the memory of the service's client: cache and kernels. */

import type { EmbeddedClient } from "sealdex/core";
import type { Metrics } from "./metrics.js";

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
