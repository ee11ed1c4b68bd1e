/** Puts together the parts of an open index: the log of manifests, snapshots, caches, the writer and maintenance. */

import { createSemaphore } from "../../async/semaphore.js";
import { IndexCache } from "../../state/cache/index-cache.js";
import type { Anchor } from "../../state/commit/anchor.js";
import { AnchoredHistory, type Anchors, AnchorStore } from "../../state/commit/anchored-history.js";
import { type Manifest, objectsDropped } from "../../state/commit/manifest.js";
import { ManifestLog } from "../../state/commit/manifest-log.js";
import { NamespaceSecrets } from "../../state/commit/namespaces.js";
import { OpenObjects } from "../../query/snapshot/open-objects.js";
import { withRoom } from "../../storage/with-room.js";
import { createAnalyzer } from "../../text/analyzer.js";
import { type ClientResources, type ClientStores, foldersOf } from "./client-resources.js";
import { DroppedObjects } from "./dropped-objects.js";
import { IndexAccess } from "./index-access.js";
import type { OpenedRecord } from "./index-record.js";
import { Maintenance } from "./maintenance.js";
import { NamespaceScopes } from "./namespace-scopes.js";
import { ObjectWriter } from "./object-writer.js";
import type { OpenIndex } from "./open-index.js";
import { type CurrentKey, RecordAccess } from "./record-access.js";
import { RewritingLock } from "./rewriting-lock.js";

/** Each is an own member, since a polluted prototype must not give it. */
export interface OpenOptions {
  /** The caller's own: older states are refused. */
  readonly anchor: Anchor | undefined;
  /** Default: in the anchor location, if there is one. */
  readonly anchors: Anchors | undefined;
  /** Whether it is the head of a collection. Undefined: it may be. */
  readonly isCollection: boolean | undefined;
  /** Of a shard, its collection: cursors are of it, and trainings are reported under its name. */
  readonly head: Pick<OpenIndex, "indexId" | "indexName"> | undefined;
  /** Of a shard. */
  readonly currentKey: CurrentKey | undefined;
}

export const plainIndex: OpenOptions = {
  anchor: undefined,
  anchors: undefined,
  isCollection: false,
  head: undefined,
  currentKey: undefined,
};

export function openIndex(
  indexName: string,
  record: OpenedRecord,
  stores: ClientStores,
  resources: ClientResources,
  { anchor, anchors: given, isCollection, head, currentKey }: OpenOptions = plainIndex,
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
  const recordAccess = new RecordAccess(indexName, record, configStore, currentKey);
  const identity = {
    indexName,
    indexId,
    keys,
    renewKeys: (generation: number) => recordAccess.renew(generation),
  };
  const anchors = given ?? (anchorStore && new AnchorStore(anchorStore, identity));
  const history = anchors || anchor ? new AnchoredHistory(identity, anchors, anchor) : undefined;
  const onCommit = (before: Manifest, committed: Manifest) => {
    dropped.add(objectsDropped(before, committed));
    maintenance.noteCommit(before, committed);
  };
  const log = new ManifestLog(folders.configStore, identity, clock, history, onCommit, isCollection);
  const maintenance = new Maintenance(clock, resources.runner, () => resources.jobsOf(index));
  const indexCache = new IndexCache(cache);
  const namespaces = new NamespaceSecrets(folders.configStore, identity);
  const objects = new OpenObjects(
    { indexId, keys, config, namespaces },
    folders.indexStore,
    indexCache,
    oblivious,
  );
  const scopes = new NamespaceScopes({
    log,
    objectsOf: () => objects,
    namespaces,
    config,
    cache: indexCache,
    clock,
    maxStalenessMs,
    oblivious,
  });
  const readers = {
    namesInUse: () => new Set([...scopes.namesInUse(), ...listings.namesShown()]),
    haveCursor: () => listings.hasCursor(head?.indexId ?? indexId),
  };
  const dropped = new DroppedObjects(folders.indexStore, readers, resources);
  const index: OpenIndex = {
    indexName,
    reportedName: head?.indexName ?? indexName,
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
    writer: new ObjectWriter(record, folders.indexStore, log, words),
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
