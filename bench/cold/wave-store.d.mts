import type { BlobStore } from "../../src/storage/blob-store.js";

/** What some work took of a store. */
export interface Taken {
  /** The length of the longest chain of requests, each of which began after the one before had ended. */
  readonly waits: number;
  readonly requests: number;
  /** Bytes that were read. */
  readonly bytes: number;
  /** The requests in words, each with its place in the chain. */
  readonly operations: string[];
}

export interface WaveStore {
  readonly store: BlobStore;
  measure(work: () => Promise<unknown>): Promise<Taken>;
}

export declare function createWaveStore(inner: BlobStore): WaveStore;
