/**
 * The figures of the dashboard, from the values behind `/metrics`. All count from the start of
 * the process.
 */

import { Type } from "typebox";
import type { MetricValues } from "../metrics/metrics.js";
import { answers } from "./shapes.js";

type Samples = MetricValues[number]["values"];

export const live = {
  tags: ["dashboard"],
  summary: "Figures of this process since its start, for the dashboard.",
  response: answers(Type.Unknown()),
};

/** Queries by vectors or words, as JSON and as base64, and by metadata. */
const queryRoutes = new Set<unknown>(
  ["query", "query_binary", "query_metadata"].map((name) => `/v1/vectors/${name}`),
);

/** `process` identifies the responding process, if several share an address. */
export function encodeLive(
  metrics: MetricValues,
  { process, version }: { process: string; version: string },
) {
  const samplesOf = (name: string): Samples => metrics.find((metric) => metric.name === name)?.values ?? [];
  /** The value of a metric without labels; 0 if there is none. */
  const value = (name: string) => samplesOf(name).at(0)?.value ?? 0;
  return {
    at: Date.now(),
    process,
    version,
    queries: encodeQueries(samplesOf("sealdex_request_seconds")),
    requests: sum(samplesOf("sealdex_requests_total")),
    requests_under_way: value("sealdex_requests_under_way"),
    errors: samplesOf("sealdex_errors_total")
      .filter(({ value: count }) => count > 0)
      .map(({ labels: { code }, value: count }) => ({ code, count })),
    storage: partsOf(samplesOf("sealdex_storage_seconds"), "_count").map(({ labels, value: calls }) => {
      const { location, operation } = labels;
      const own = (name: string) =>
        samplesOf(name).filter((other) => {
          return other.labels.location === location && other.labels.operation === operation;
        });
      return {
        location,
        operation,
        calls,
        errors: sum(own("sealdex_storage_errors_total")),
        bytes: sum(own("sealdex_storage_bytes_total")),
      };
    }),
    cache: {
      bytes: value("sealdex_cache_bytes"),
      bytes_max: value("sealdex_cache_bytes_max"),
      lookups: value("sealdex_cache_lookups_total"),
      misses: value("sealdex_cache_misses_total"),
    },
    memory: {
      rss_bytes: value("process_resident_memory_bytes"),
      heap_bytes: value("nodejs_heap_size_used_bytes"),
      kernel_bytes: value("sealdex_kernel_bytes"),
    },
    event_loop_seconds: value("nodejs_eventloop_lag_p99_seconds"),
    open_indexes: value("sealdex_open_indexes"),
    trainings_running: value("sealdex_trainings_running"),
    started_at: 1000 * value("process_start_time_seconds"),
  };
}

/** One histogram of all queries: `seconds` are the upper limits of its buckets, ascending, `counts` are cumulative. */
function encodeQueries(requests: Samples) {
  const queries = requests.filter(({ labels }) => queryRoutes.has(labels.route));
  const buckets = new Map<number, number>();
  for (const { labels, value } of partsOf(queries, "_bucket")) {
    const limit = Number(labels.le);
    if (Number.isFinite(limit)) buckets.set(limit, (buckets.get(limit) ?? 0) + value);
  }
  return {
    count: sum(partsOf(queries, "_count")),
    sum_seconds: sum(partsOf(queries, "_sum")),
    seconds: [...buckets.keys()],
    counts: [...buckets.values()],
  };
}

/** The samples of a histogram whose names end so. */
function partsOf(samples: Samples, suffix: "_bucket" | "_sum" | "_count"): Samples {
  return samples.filter(({ metricName }) => metricName?.endsWith(suffix));
}

function sum(samples: Samples): number {
  return samples.reduce((total, { value }) => total + value, 0);
}
