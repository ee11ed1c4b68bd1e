/** What the service answers, with names in camelCase. */

export interface Histogram {
  readonly count: number;
  readonly sumSeconds: number;
  /** Upper limits of the buckets, ascending. */
  readonly seconds: readonly number[];
  /** How many were at most so long. */
  readonly counts: readonly number[];
}

export interface Live {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Changes when the service is restarted, or another process of it answers. */
  readonly process: string;
  readonly version: string;
  readonly startedAt: number;
  readonly queries: Histogram;
  readonly requests: number;
  readonly requestsUnderWay: number;
  readonly errors: readonly { readonly code: string; readonly count: number }[];
  readonly storage: readonly StorageFigures[];
  readonly cache: {
    readonly bytes: number;
    readonly bytesMax: number;
    readonly lookups: number;
    readonly misses: number;
  };
  readonly memory: { readonly rssBytes: number; readonly heapBytes: number; readonly kernelBytes: number };
  readonly eventLoopSeconds: number;
  readonly openIndexes: number;
  readonly trainingsRunning: number;
}

export interface StorageFigures {
  readonly location: string;
  readonly operation: string;
  readonly calls: number;
  readonly errors: number;
  readonly bytes: number;
}

export interface LocationHealth {
  readonly name: string;
  readonly kind: string;
  readonly ms: number;
  readonly code?: string;
}

export type Scope = "read" | "write" | "admin";

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly indexes?: readonly string[];
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly lastUsedAt?: number;
}

export interface KnownIndex {
  readonly name: string;
  readonly lastWriteAt?: number;
  readonly items?: number;
  readonly description?: {
    readonly indexType: string;
    readonly isTrained: boolean;
    /** Of a collection. */
    readonly shards?: number;
    readonly segments: number;
    readonly storedBytes: number;
    readonly trainingFailure?: string;
    readonly indexConfig: { readonly metric: string; readonly dimension: number; readonly nLists: number };
  };
}

export interface AuditEntry {
  /** ISO 8601. */
  readonly at: string;
  readonly caller?: string;
  readonly address?: string;
  readonly action: string;
  readonly wrap?: string;
  readonly index?: string;
  readonly key?: string;
  readonly status?: number;
  readonly code?: string;
  readonly request?: string;
  readonly log: string;
  readonly authentic: boolean;
}
