/** Metrics as Prometheus text. No label contains an index name, id or key. */

import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValueWithName,
  Registry,
} from "prom-client";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type BlobStore, SealdexError } from "sealdex/core";
import { errorCodes } from "sealdex/wire";
import { tracer } from "../http/tracing.js";
import type { LeastRecall } from "../indexes/open-indexes.js";

/** From half a millisecond, the time of warm queries, to trainings. */
const requestSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];
const storageSeconds = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10];

const topKLabel = "top_k";

export type MetricValues = MetricObjectWithValues<MetricValueWithName<string>>[];

let shared: Registry | undefined;

/** One registry for all services of the process: its observer of garbage collections cannot be stopped. */
function processMetrics(): Registry {
  if (shared === undefined) {
    shared = new Registry();
    collectDefaultMetrics({ register: shared });
  }
  return shared;
}

export class Metrics {
  readonly registry = new Registry();
  readonly #ofProcess = processMetrics();
  readonly #requests = new Counter({
    name: "sealdex_requests_total",
    help: "Requests that were answered, and those whose client left (status 0).",
    labelNames: ["method", "route", "status"],
    registers: [this.registry],
  });
  readonly #requestSeconds = new Histogram({
    name: "sealdex_request_seconds",
    help: "Time from the headers of a request to the end of its answer.",
    labelNames: ["route"],
    buckets: requestSeconds,
    registers: [this.registry],
  });
  readonly #underWay = new Gauge({
    name: "sealdex_requests_under_way",
    help: "Requests that are not answered yet, those that wait included.",
    registers: [this.registry],
  });
  readonly #errors = new Counter({
    name: "sealdex_errors_total",
    help: "Requests that failed, by error code.",
    labelNames: ["code"],
    registers: [this.registry],
  });
  readonly #trainingSeconds = new Histogram({
    name: "sealdex_training_seconds",
    help: "Time of trainings that ended.",
    labelNames: ["result"],
    buckets: [0.1, 1, 5, 15, 60, 300, 1800],
    registers: [this.registry],
  });
  readonly #storageSeconds = new Histogram({
    name: "sealdex_storage_seconds",
    help: "Time of storage calls, with their retries.",
    labelNames: ["location", "operation"],
    buckets: storageSeconds,
    registers: [this.registry],
  });
  readonly #storageErrors = new Counter({
    name: "sealdex_storage_errors_total",
    help: "Storage calls that failed after all retries, or were aborted.",
    labelNames: ["location", "operation"],
    registers: [this.registry],
  });
  readonly #storageBytes = new Counter({
    name: "sealdex_storage_bytes_total",
    help: "Bytes that were read from and written to storage. What is in the cache is not read.",
    labelNames: ["location", "operation"],
    registers: [this.registry],
  });
  readonly #leafSeconds = new Histogram({
    name: "sealdex_leaf_seconds",
    help: "Time of requests to leaves: done, or failed so that another leaf was asked.",
    labelNames: ["leaf", "result"],
    buckets: requestSeconds,
    registers: [this.registry],
  });

  constructor() {
    // Prometheus sees no increase of a counter that begins with its first error.
    for (const code of errorCodes) this.#errors.inc({ code }, 0);
  }

  /** The sum of this process and `others`. */
  async text(others: readonly MetricValues[] = []): Promise<string> {
    if (others.length === 0) return this.#whole().metrics();
    return AggregatorRegistry.aggregate([await this.values(), ...others]).metrics();
  }

  /** The values of this process, for another one. */
  values(): Promise<MetricValues> {
    return this.#whole().getMetricsAsJSON();
  }

  #whole(): Registry {
    return Registry.merge([this.#ofProcess, this.registry]);
  }

  begin(): void {
    this.#underWay.inc();
  }

  /** Records a finished request. */
  end({ method, routeOptions, failureCode }: FastifyRequest, reply: FastifyReply): void {
    const route = routeOptions.url ?? "none";
    const status = reply.raw.writableFinished ? reply.statusCode : 0;
    this.#underWay.dec();
    this.#requests.inc({ method, route, status });
    this.#requestSeconds.observe({ route }, reply.elapsedTime / 1000);
    if (failureCode !== undefined) this.#errors.inc({ code: failureCode });
  }

  /** `ms`: duration of a request to a leaf, by its URL. */
  asked(leaf: string, ms: number, result: "done" | "failed"): void {
    this.#leafSeconds.observe({ leaf, result }, ms / 1000);
  }

  /** `ms`: duration of a training. */
  trained(result: "done" | "failed", ms: number): void {
    this.#trainingSeconds.observe({ result }, ms / 1000);
  }

  /** A gauge that is read on demand. `aggregator` combines the values of several processes. */
  gauge(name: string, help: string, read: () => number, aggregator: "sum" | "min" = "sum"): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      aggregator,
      registers: [this.registry],
      collect: () => gauge.set(read()),
    });
  }

  /** Of the index that finds the least, read on demand. */
  measuredRecall(read: () => Promise<readonly LeastRecall[]>): void {
    const gauge: Gauge = new Gauge({
      name: "sealdex_measured_recall",
      help: "Recall measured on queries, and its 95 % confidence interval: of the open index that finds the least.",
      labelNames: [topKLabel, "recall", "bound"],
      aggregator: "min",
      registers: [this.registry],
      collect: async () => {
        const least = await read();
        gauge.reset();
        for (const { topK, recall, found, low, high } of least) {
          const labels = { [topKLabel]: topK, recall };
          gauge.set({ ...labels, bound: "found" }, found);
          gauge.set({ ...labels, bound: "low" }, low);
          gauge.set({ ...labels, bound: "high" }, high);
        }
      },
    });
  }

  /** A counter that is kept elsewhere and read on demand. */
  counter(name: string, help: string, read: () => number): void {
    const counter: Counter = new Counter({
      name,
      help,
      registers: [this.registry],
      collect: () => {
        counter.reset();
        counter.inc(read());
      },
    });
  }

  /**
   * Wraps a store to measure and trace its calls. No span holds the name of a stored object.
   * `location`: `index`, `config` or `anchor`.
   */
  observed(store: BlobStore, location: string): BlobStore {
    const run = async <T>(operation: string, call: () => Promise<T>, sent = 0): Promise<T> => {
      const labels = { location, operation };
      const attributes = { "sealdex.location": location, "sealdex.operation": operation };
      const span = tracer.startSpan(`storage ${operation}`, { kind: SpanKind.CLIENT, attributes });
      const startedAt = performance.now();
      try {
        const result = await call();
        const bytes = ArrayBuffer.isView(result) ? result.byteLength : sent;
        this.#storageBytes.inc(labels, bytes);
        if (bytes > 0) span.setAttribute("sealdex.bytes", bytes);
        return result;
      } catch (error) {
        this.#storageErrors.inc(labels);
        span.setAttribute("error.type", error instanceof SealdexError ? error.code : "other");
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        this.#storageSeconds.observe(labels, (performance.now() - startedAt) / 1000);
        span.end();
      }
    };
    return {
      read: (key, range, options) => run("read", () => store.read(key, range, options)),
      create: (key, bytes, options) => run("create", () => store.create(key, bytes, options), bytes.length),
      list: (prefix, options) => run("list", () => store.list(prefix, options)),
      delete: (keys, options) => run("delete", () => store.delete(keys, options)),
      close: () => store.close(),
    };
  }
}
