/** One index, open in this process: the parts that its verbs use. */

import type { Semaphore } from "../../async/semaphore.js";
import type { ModelIdentity } from "../../embedding/index-embedder.js";
import type { IndexConfig } from "../../engine/config.js";
import type { KeyRing } from "../../keys/key-ring.js";
import type { Clock } from "../../state/commit/clock.js";
import type { ManifestLog } from "../../state/commit/manifest-log.js";
import type { NamespaceSecrets } from "../../state/commit/namespaces.js";
import type { BlobStore } from "../../storage/blob-store.js";
import type { IndexWords } from "../../text/define-text.js";
import type { DroppedObjects } from "./dropped-objects.js";
import type { IndexAccess } from "./index-access.js";
import type { Listings } from "./listings.js";
import type { Maintenance } from "./maintenance.js";
import type { NamespaceScopes, SearchTarget } from "./namespace-scopes.js";
import type { ObjectWriter } from "./object-writer.js";
import type { QuerySamples } from "./query-samples.js";
import type { RecordAccess } from "./record-access.js";
import type { RewritingLock } from "./rewriting-lock.js";

export interface OpenIndex extends SearchTarget {
  readonly indexName: string;
  /** Of a shard, the name of its collection. */
  readonly reportedName: string;
  readonly indexId: Uint8Array;
  readonly keys: KeyRing;
  readonly config: IndexConfig;
  /** The embedding model that it was created with. */
  readonly model?: ModelIdentity;
  /** How its texts are searched by words, if they are. */
  readonly words?: IndexWords;
  readonly clock: Clock;
  readonly log: ManifestLog;
  readonly access: IndexAccess;
  /** The record's name and content, as the holder of this key sees them. */
  readonly record: RecordAccess;
  /** Where segments and models are. */
  readonly store: BlobStore;
  readonly writer: ObjectWriter;
  readonly dropped: DroppedObjects;
  /** Of the client. */
  readonly listings: Listings;
  readonly namespaces: NamespaceSecrets;
  readonly scopes: NamespaceScopes;
  /** The name of the namespace that `snapshots` and `searcher` are restricted to, if they are. */
  readonly namespace: string | undefined;
  readonly rewriting: RewritingLock;
  readonly maintenance: Maintenance;
  /** Where queries are put that the index learns from; undefined: it learns from none. */
  readonly samples: QuerySamples | undefined;
  /** Lets one update of this process work at a time. */
  readonly updating: Semaphore;
}

/** The index as far as one namespace goes, or all of it. Rows stored by the result belong to the namespace. */
export function restrictToNamespace(index: OpenIndex, namespace: string | undefined): OpenIndex {
  return namespace === undefined ? index : { ...index, ...index.scopes.of(namespace), namespace };
}
