/**
 * Manifests: the whole state of an index as a short list. docs/internals/format.md §5; stored-manifest.ts seals them.
 *
 * Manifest n + 1 follows manifest n; creating it is the one atomic step of every change. Each holds the digest
 * of the one before it, so manifests of different histories cannot be mixed.
 */

import type { KeyObject } from "node:crypto";
import { generationOf } from "../../crypto/sealed-object.js";
import { own } from "../../checks/value-kinds.js";
import { bornAt, manifestName } from "./object-names.js";
import { firstWatermark, type Watermark } from "./retention.js";

/** Pins a stored object: no other object passes for it. */
export interface ObjectRef {
  readonly name: string;
  /** The object's 76-byte header, base64. */
  readonly header: string;
  /** Bytes. */
  readonly length: number;
}

export interface SegmentRef extends ObjectRef {
  /**
   * Greater than that of every segment committed before. A row shadows rows of the same id in segments of lower
   * sequence; segments of equal sequence have no id in common.
   */
  readonly sequence: number;
  readonly rows: number;
  readonly deleted: number;
  readonly blocks: number;
  readonly footerLength: number;
  /** The id of the namespace that its items belong to, see namespaces.ts; absent: none. */
  readonly namespace?: string;
  /** Name of the model by whose lists the rows are grouped; absent: one list. */
  readonly model?: string;
}

export interface ModelRef extends ObjectRef {
  /** Items that there were when it was trained. */
  readonly items: number;
}

/** One state of a shard, which is an index: of its manifests, no other passes for this one. */
export interface ShardRef {
  /** The least hash of its items' ids; the greatest is below that of the next shard. */
  readonly from: number;
  /** Hexadecimal. */
  readonly indexId: string;
  readonly version: number;
  /** SHA-256 of the stored manifest, hexadecimal. */
  readonly digest: string;
  /** 8 random bytes of its name, hexadecimal. Absent: it was created with the collection. */
  readonly suffix?: string;
}

/** A shard that is stored beside those of the collection: one that a split makes, or one that was split. */
export interface SpareShard extends ShardRef {
  /**
   * Since which version of the collection it is no part of it any more; 0: it never was, and never will be. Absent: a split may yet make
   * it a part.
   */
  readonly retired?: number;
}

export interface Manifest {
  /** 1 for a new index. */
  readonly version: number;
  /** SHA-256 of the sealed manifest before this one, hexadecimal; empty for version 1. */
  readonly previous: string;
  /** The generation of the keys that seal and sign it. It never decreases: the commit that increases it brings new keys into force. */
  readonly keyGeneration: number;
  /** The index was deleted: none of its objects exist any more. */
  readonly dropped: boolean;
  /** Undefined until the first vector determines it. */
  readonly dimension?: number;
  /** The model of new segments. Absent: untrained. */
  readonly model?: ModelRef;
  /** Ascending by sequence. */
  readonly segments: readonly SegmentRef[];
  /** Names of the objects that the previous version named and this one does not. */
  readonly droppedObjects: readonly string[];
  /** Manifests below the floor may be gone. */
  readonly history: Watermark;
  /** Objects born below the floor (see object-names.ts) that no version names yet will never be named. */
  readonly uploads: Watermark;
  /** How many namespaces, and groups of items with a secret, were erased. Absent: none. */
  readonly erasures?: number;
  /** The next commit is promised to a change; see `ManifestLog.reserveNextCommit`. */
  readonly reservation?: Reservation;
  /** Of a collection, ascending. Absent: an index, which has segments. */
  readonly shards?: readonly ShardRef[];
  /** Of a collection: all others that may be stored and have items. Absent: none. */
  readonly spareShards?: readonly SpareShard[];
  /**
   * 32 random bytes each, from which the keys of the shards are derived: the secret in force and, during a rotation, the next one.
   * Shards may have keys of either.
   */
  readonly shardSecrets?: readonly KeyObject[];
}

/** Members of the first manifest of a collection. */
export type CollectionMembers = Pick<Manifest, "shards" | "shardSecrets">;

/** A promise of the next commit. It keeps no writer from committing: it only asks them to wait. */
export interface Reservation {
  /** 16 random bytes, hexadecimal. */
  readonly holder: string;
  /** How long others wait for it, milliseconds. */
  readonly ms: number;
}

/** The longest that a change may ask others to wait for it, in milliseconds. */
export const reservationMsMax = 10_000;

/** Version 1 of a new index or collection. */
export function emptyManifest(now: number, members: CollectionMembers = {}): Manifest {
  return own({
    ...members,
    version: 1,
    previous: "",
    keyGeneration: 1,
    dropped: false,
    segments: [],
    droppedObjects: [],
    history: firstWatermark(now),
    uploads: firstWatermark(now),
  });
}

/** All objects that a manifest names. */
export function objectRefs({ model, segments }: Manifest): readonly ObjectRef[] {
  return model === undefined ? segments : [model, ...segments];
}

/** The number of items in no namespace, from which trainings learn, with those that newer ones replaced. */
export function rowsAtMost({ segments }: Manifest): number {
  const unnamed = segments.filter(({ namespace }) => namespace === undefined);
  return unnamed.reduce((sum, { rows, deleted }) => sum + rows - deleted, 0);
}

/** The generation of the key that an object was sealed under. */
export function generationOfRef({ header }: Pick<ObjectRef, "header">): number {
  return generationOf(Buffer.from(header, "base64"));
}

/** Names of the objects that make up this version. Of a collection they are manifests of its shards. */
export function namedObjects(manifest: Manifest): Set<string> {
  const states = (manifest.shards ?? []).map(({ indexId, version }) =>
    manifestName(Buffer.from(indexId, "hex"), version),
  );
  return new Set([...objectRefs(manifest).map(({ name }) => name), ...states]);
}

/** Objects that `before` names and that `committed`, the manifest after it, dropped. */
export function objectsDropped(before: Manifest, committed: Manifest): readonly ObjectRef[] {
  if (committed.droppedObjects.length === 0) return [];
  const names = new Set(committed.droppedObjects);
  return objectRefs(before).filter(({ name }) => names.has(name));
}

/** Whether segments of this namespace are part of the index. */
export function namesNamespace({ segments }: Pick<Manifest, "segments">, id: string): boolean {
  return segments.some(({ namespace }) => namespace === id);
}

/** Things of segments, by their namespaces. Segments of different namespaces have no item in common. */
export function byNamespace<T>(
  things: readonly T[],
  refOf: (thing: T) => Pick<SegmentRef, "namespace">,
): T[][] {
  const groups = new Map<string | undefined, T[]>();
  for (const thing of things) {
    const { namespace } = refOf(thing);
    const group = groups.get(namespace);
    if (group === undefined) groups.set(namespace, [thing]);
    else group.push(thing);
  }
  return [...groups.values()];
}

export function erasuresOf({ erasures }: Manifest): number {
  return erasures ?? 0;
}

/** The sequence of segments that are committed after `latest`. */
export function nextSequence({ segments }: Manifest): number {
  return (segments[segments.length - 1]?.sequence ?? 0) + 1;
}

/**
 * Whether these objects may still be committed; otherwise they have to be stored again, under new names, and under the keys in
 * force: commits after a revocation must not be sealed under a key from before.
 */
export function areCommittable(
  latest: Manifest,
  objects: readonly Pick<ObjectRef, "name" | "header">[],
): boolean {
  return objects.every(
    (object) =>
      bornAt(object.name) >= latest.uploads.floor && generationOfRef(object) >= latest.keyGeneration,
  );
}
