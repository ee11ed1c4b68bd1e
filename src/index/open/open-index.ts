/** One index, open in this process: the parts that its verbs use. */

import { type Anchor, encodeAnchor } from "../../state/commit/anchor.js";
import { AnchoredHistory, AnchorStore } from "../../state/commit/anchored-history.js";
import type { Clock } from "../../state/commit/clock.js";
import { type Manifest, objectsDropped } from "../../state/commit/manifest.js";
import { openFolder } from "../../state/commit/index-folder.js";
import { ManifestLog } from "../../state/commit/manifest-log.js";
import { Namespaces } from "../../state/commit/namespaces.js";
import type { ModelIdentity } from "../../embedding/index-embedder.js";
import type { IndexConfig } from "../../engine/config.js";
import { OpenObjects } from "../../query/snapshot/open-objects.js";
import { NamespaceScopes, type SearchTarget } from "./namespace-scopes.js";
import type { Snapshot } from "../../query/snapshot/snapshot.js";
import type { BlockCache } from "../../state/cache/block-cache.js";
import { IndexCache } from "../../state/cache/index-cache.js";
import type { BlobStore } from "../../storage/blob-store.js";
import { withRoom } from "../../storage/with-room.js";
import { createSemaphore, type Semaphore } from "../../async/semaphore.js";
import { type Analyzer, createAnalyzer } from "../../text/analyzer.js";
import type { TextDefinition } from "../../text/text-options.js";
import type { KeyRing } from "../../keys/key-ring.js";
import type { OpenedRecord } from "./index-record.js";
import { DroppedObjects, type Retention } from "./dropped-objects.js";
import { IndexAccess } from "./index-access.js";
import type { Listings } from "./listings.js";
import { type Job, Maintenance } from "./maintenance.js";
import { ObjectWriter } from "./object-writer.js";
import { SealdexError } from "../../errors.js";
import type { QuerySamples } from "./query-samples.js";
import { RecordAccess } from "./record-access.js";
import { rowTexts } from "./row-texts.js";
import { RewritingLock } from "./rewriting-lock.js";

export interface OpenIndex extends SearchTarget {
  readonly indexName: string;
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
  readonly namespaces: Namespaces;
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

export interface IndexWords {
  readonly definition: TextDefinition;
  readonly analyzer: Analyzer;
}

/** The stores of a client. */
export interface ClientStores {
  readonly indexStore: BlobStore;
  readonly configStore: BlobStore;
  readonly anchorStore?: BlobStore | undefined;
}

/** Where the objects of an index of this name are. */
export type IndexFolders = Pick<ClientStores, "indexStore" | "configStore">;

export function foldersOf({ indexStore, configStore }: IndexFolders, indexName: string): IndexFolders {
  return {
    indexStore: openFolder(indexStore, indexName),
    configStore: openFolder(configStore, indexName),
  };
}

/** The parts that all indexes of a client share. */
export interface ClientResources extends Retention {
  readonly cache: BlockCache;
  readonly listings: Listings;
  readonly maxStalenessMs: number;
  /** See `EmbeddedClientOptions`. */
  readonly oblivious: boolean;
  readonly samples: QuerySamples;
  /** The jobs that commits make due. */
  jobsOf(index: OpenIndex): readonly Job[];
  /** Called when a location is full. */
  makeRoom(index: OpenIndex): Promise<void>;
}

export function openIndex(
  indexName: string,
  record: OpenedRecord,
  stores: ClientStores,
  resources: ClientResources,
  anchor?: Anchor,
): OpenIndex {
  const { cache, clock, listings, maxStalenessMs, oblivious, samples } = resources;
  const { configStore, anchorStore } = stores;
  const { indexStore, configStore: manifestStore } = foldersOf(stores, indexName);
  const makeRoom = () => resources.makeRoom(index);
  const folders = {
    indexStore: withRoom(indexStore, makeRoom),
    configStore: withRoom(manifestStore, makeRoom),
  };
  const { indexId, keys, definition } = record;
  const { config, model, text } = definition;
  const words = text && { definition: text, analyzer: createAnalyzer(text.analyzer) };
  const recordAccess = new RecordAccess(indexName, record, configStore);
  const identity = {
    indexName,
    indexId,
    keys,
    renewKeys: (generation: number) => recordAccess.renew(generation),
  };
  const anchors = anchorStore && new AnchorStore(anchorStore, identity);
  const history = anchors || anchor ? new AnchoredHistory(identity, anchors, anchor) : undefined;
  const log = new ManifestLog(folders.configStore, identity, clock, history, (before, committed) => {
    dropped.add(objectsDropped(before, committed));
    maintenance.noteCommit(before, committed);
  });
  const maintenance = new Maintenance(clock, resources.runner, () => resources.jobsOf(index));
  const indexCache = new IndexCache(cache);
  const namespaces = new Namespaces(folders.configStore, identity);
  const objects = new OpenObjects(
    { indexId, keys, config, namespaces },
    folders.indexStore,
    indexCache,
    oblivious,
  );
  const scopes = new NamespaceScopes({
    log,
    objects,
    namespaces,
    config,
    cache: indexCache,
    clock,
    maxStalenessMs,
    oblivious,
  });
  const readers = {
    namesInUse: () => new Set([...scopes.namesInUse(), ...listings.namesShown()]),
    haveCursor: () => listings.hasCursor(indexId),
  };
  const dropped = new DroppedObjects(folders.indexStore, readers, resources);
  const index: OpenIndex = {
    indexName,
    indexId,
    keys,
    config,
    ...(model !== undefined && { model }),
    ...(words && { words }),
    clock,
    log,
    access: new IndexAccess(recordAccess, log),
    record: recordAccess,
    store: folders.indexStore,
    writer: new ObjectWriter(
      record,
      folders.indexStore,
      log,
      words && rowTexts(words.definition, words.analyzer),
    ),
    dropped,
    listings,
    namespaces,
    scopes,
    ...scopes.whole,
    namespace: undefined,
    rewriting: new RewritingLock(),
    maintenance,
    samples: oblivious ? undefined : samples,
    updating: createSemaphore(1),
  };
  return index;
}

/** The index as far as one namespace goes, or all of it. Rows stored by the result belong to the namespace. */
export function within(index: OpenIndex, namespace: string | undefined): OpenIndex {
  return namespace === undefined ? index : { ...index, ...index.scopes.of(namespace), namespace };
}

/** The dimension, by definition or by the first vector. */
export function dimensionOf({ config }: OpenIndex, manifest: Manifest | undefined): number | undefined {
  return config.dimension ?? manifest?.dimension;
}

/** Whether any vector is stored, of the dimension of this one: if there is none, any dimension may ask, and nothing is near. */
export function hasDimension(
  index: OpenIndex,
  { manifest }: Snapshot,
  { length }: Float32Array,
  where: string,
): boolean {
  const dimension = dimensionOf(index, manifest);
  if (dimension !== undefined && length !== dimension) throw dimensionMismatch(where, dimension, length);
  return dimension !== undefined;
}

export function dimensionMismatch(where: string, expected: number, received: number): SealdexError {
  return new SealdexError("dimension_mismatch", `${where}: expected ${expected} numbers, got ${received}`);
}

/** The token of the newest state. */
export async function presentAnchor({ indexId, log }: OpenIndex): Promise<string> {
  const { manifest, digest } = await log.newestSealed();
  return encodeAnchor({ indexId, version: manifest.version, digest });
}
