/** An index, opened as the client opens it, with a clock given from outside and with all that maintenance works on in reach. */

import { deriveWrapKeys, parseIndexKey } from "../../src/crypto/keys.js";
import { signingKey, verifyKeyOf } from "../../src/crypto/signing.js";
import type { Clock } from "../../src/state/commit/clock.js";
import { folderPrefix, indexesPrefix } from "../../src/state/commit/object-names.js";
import { historyMs } from "../../src/state/commit/retention.js";
import { EncryptedIndex } from "../../src/index/encrypted-index.js";
import { makeRoom } from "../../src/index/maintenance/gc.js";
import type { OpenedRecord } from "../../src/index/open/index-record.js";
import { Listings } from "../../src/index/open/listings.js";
import { JobRunner } from "../../src/index/open/job-runner.js";
import { maintenanceJobs } from "../../src/index/maintenance-jobs.js";
import { QuerySamples } from "../../src/index/open/query-samples.js";
import { openIndex as openInner } from "../../src/index/open/assemble.js";
import type { OpenIndex } from "../../src/index/open/open-index.js";
import { KeyRing } from "../../src/keys/key-ring.js";
import { Calls } from "../../src/async/calls.js";
import { BlockCache } from "../../src/state/cache/block-cache.js";
import type { BlobStore } from "../../src/storage/blob-store.js";
import type { TextDefinition } from "../../src/text/text-options.js";
import type { VectorIndex } from "../../src/api/vector-index.js";

export interface Opened {
  readonly index: VectorIndex;
  readonly inner: OpenIndex;
  close(): Promise<void>;
}

/**
 * A new index that is the same in every run: only its keys, such as by the order of fingerprints, steer a run. `text`: if
 * it holds words.
 */
export function fixedRecord(text?: TextDefinition): OpenedRecord {
  const indexId = new Uint8Array(16).fill(7);
  const salt = new Uint8Array(32).fill(8);
  const config = { type: "ivfflat", metric: "euclidean", nLists: 1024 } as const;
  const definition = { config, ...(text && { text }) };
  const signingSeed = new Uint8Array(32).fill(43);
  const verifyKey = verifyKeyOf(signingKey(signingSeed));
  const keys = new KeyRing(indexId, {
    name: "owner",
    access: "owner",
    indexSecret: new Uint8Array(32).fill(42),
    generations: [{ number: 1, since: 1, secret: new Uint8Array(32).fill(41), verifyKey }],
    signingSeed,
    definition,
  });
  const wrapKeys = deriveWrapKeys(parseIndexKey(new Uint8Array(32).fill(1)), salt, indexId);
  return { indexId, salt, wrapKeys, keys, definition };
}

/** Of the index that `openIndex` opens. */
export const indexName = "simulated";

/** Where an object of the index lies that `openIndex` opens. */
export function keyOf(objectName: string): string {
  return folderPrefix(indexName) + objectName.slice(indexesPrefix.length);
}

export function openIndex(record: OpenedRecord, store: BlobStore, clock: Clock, maxStalenessMs = 0): Opened {
  const cache = new BlockCache(64 * 1024 * 1024);
  const runner = new JobRunner(clock);
  const inner = openInner(
    indexName,
    record,
    { indexStore: store, configStore: store },
    {
      cache,
      clock,
      listings: new Listings(clock),
      maxStalenessMs,
      retentionMs: historyMs,
      oblivious: false,
      runner,
      samples: new QuerySamples(clock, runner),
      jobsOf: (index) => maintenanceJobs(index, false),
      makeRoom,
    },
  );
  return {
    inner,
    index: new EncryptedIndex(inner, new Calls()),
    async close() {
      await runner.close();
      await cache.close();
    },
  };
}
