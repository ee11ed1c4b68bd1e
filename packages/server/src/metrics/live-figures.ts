/**
 * The figures of the dashboard, from the values behind `/metrics`. All count from the start of
 * the process.
 */

import type { Metrics } from "./metrics.js";

interface Sample {
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly value: number;
  /** The part of a histogram: ends in `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string;
}

export interface Histogram {
  readonly count: number;
  readonly sumSeconds: number;
  /** Upper limits of the buckets in seconds, ascending, and cumulative counts. */
  readonly seconds: number[];
  readonly counts: number[];
}

export interface StorageFigures {
  readonly location: string;
  readonly operation: string;
  readonly calls: number;
  readonly errors: number;
  readonly bytes: number;
}

/** Queries by vectors or words, as JSON and as base64, and by metadata. */
const queryRoutes = new Set<unknown>(
  ["query", "query_binary", "query_metadata"].map((name) => `/v1/vectors/${name}`),
);

export class LiveFigures {
  readonly #samples: ReadonlyMap<string, readonly Sample[]>;

  private constructor(samples: ReadonlyMap<string, readonly Sample[]>) {
    this.#samples = samples;
  }

  static async read(metrics: Metrics): Promise<LiveFigures> {
    const all = await metrics.values();
    return new LiveFigures(new Map(all.map(({ name, values }) => [name, values])));
  }

  /** The value of a metric without labels; 0 if there is none. */
  value(name: string): number {
    return this.#of(name).at(0)?.value ?? 0;
  }

  /** The sum of all samples. */
  total(name: string, isCounted: (labels: Sample["labels"]) => boolean = () => true): number {
    return this.#of(name).reduce((sum, { labels, value }) => (isCounted(labels) ? sum + value : sum), 0);
  }

  queries(): Histogram {
    const samples = this.#of("sealdex_request_seconds").filter(({ labels }) => queryRoutes.has(labels.route));
    const part = (suffix: string) => samples.filter(({ metricName }) => metricName?.endsWith(suffix));
    const sum = (suffix: string) => part(suffix).reduce((total, { value }) => total + value, 0);
    const buckets = new Map<number, number>();
    for (const { labels, value } of part("_bucket")) {
      const limit = Number(labels.le);
      if (Number.isFinite(limit)) buckets.set(limit, (buckets.get(limit) ?? 0) + value);
    }
    return {
      count: sum("_count"),
      sumSeconds: sum("_sum"),
      seconds: [...buckets.keys()],
      counts: [...buckets.values()],
    };
  }

  /** By error code, those that occurred. */
  errors(): { readonly code: string; readonly count: number }[] {
    return this.#of("sealdex_errors_total")
      .filter(({ value }) => value > 0)
      .map(({ labels, value }) => ({ code: String(labels.code), count: value }));
  }

  storage(): StorageFigures[] {
    const calls = this.#of("sealdex_storage_seconds").filter(({ metricName }) =>
      metricName?.endsWith("_count"),
    );
    return calls.map(({ labels, value }) => {
      const isSame = (other: Sample["labels"]) =>
        other.location === labels.location && other.operation === labels.operation;
      return {
        location: String(labels.location),
        operation: String(labels.operation),
        calls: value,
        errors: this.total("sealdex_storage_errors_total", isSame),
        bytes: this.total("sealdex_storage_bytes_total", isSame),
      };
    });
  }

  #of(name: string): readonly Sample[] {
    return this.#samples.get(name) ?? [];
  }
}
