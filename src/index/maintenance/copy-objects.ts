/**
 * Copies the objects that one manifest names, as they are, sealed, and the manifest.
 *
 * Objects that exist already, from an attempt that was interrupted, are not read again from the source. Whatever is
 * read, from here or there, is authenticated to the last byte before it counts.
 */

import { headerBytes, openObject } from "../../crypto/sealed-object.js";
import { SealdexError } from "../../errors.js";
import { verifySegment } from "../../state/segment/verify.js";
import type { BlobStore } from "../../storage/blob-store.js";
import { holdsBytes } from "../../storage/holds-bytes.js";
import { createSemaphore } from "../../async/semaphore.js";
import { run } from "../../engine/threads/run.js";
import { whenAborted } from "../../async/abort.js";
import { type Manifest, objectRefs, type ObjectRef, type SegmentRef } from "../../state/commit/manifest.js";
import { indexPrefix, manifestName } from "../../state/commit/object-names.js";
import { groupSecretNames } from "../../state/commit/group-secrets.js";
import { readObject } from "../../state/commit/read-object.js";
import { keysOfSegment } from "../../query/snapshot/segment-keys.js";
import type { IndexFolders } from "../open/client-resources.js";
import type { OpenIndex } from "../open/open-index.js";
import type { OrphanMark } from "./orphans.js";

/** The progress of a copy. Every object counts twice: once copied, once verified at the target. */
export interface CopyProgress {
  readonly phase: "copy" | "verify";
  /** Objects and bytes of this phase that are done. */
  readonly objectsDone: number;
  readonly bytesDone: number;
  /** The same for both phases; more when the source was rewritten meanwhile and the copy starts over. */
  readonly objects: number;
  readonly bytes: number;
}

export interface CopyOptions {
  readonly onProgress: ((progress: CopyProgress) => void) | undefined;
  readonly signal: AbortSignal | undefined;
  /** Only this version may be copied: the target already has a complete index of it, which others may be reading. */
  readonly only: number | undefined;
  /** Of the copy, which may take days. */
  readonly mark: OrphanMark;
}

/** Parts of an object that are read at a time: a long object takes as long as its slowest part. */
const partBytes = 8 * 1024 * 1024;
const objectsAtOnce = 8;
/** Objects in memory at a time, in bytes; a longer one is alone. */
const heldBytesMax = 192 * 1024 * 1024;

/**
 * Copies the objects that the newest manifest of `index` names, then that manifest, to these folders. Throws `corrupt` or `missing_object` if the
 * source is damaged, or something else is in the object's place. Gives the manifest.
 */
export async function copyObjects(
  index: OpenIndex,
  to: IndexFolders,
  options: CopyOptions,
): Promise<Manifest> {
  for (;;) {
    const { manifest, bytes } = await index.log.newestSealed();
    if (options.only !== undefined && options.only !== manifest.version) {
      throw new SealdexError(
        "already_exists",
        `index "${index.indexName}": the target of the copy has an earlier state of it`,
      );
    }
    try {
      await copyAll(index, manifest, to, options);
      await copySecrets(index, manifest, to, options.signal);
    } catch (error) {
      const isGone = error instanceof SealdexError && error.code === "missing_object";
      // Rewritten by others while it was copied: the newer state takes its place, and keeps the shared objects.
      if (isGone && (await index.log.newest()).version !== manifest.version) continue;
      throw error;
    }
    options.signal?.throwIfAborted();
    await createSame(to.configStore, manifestName(index.indexId, manifest.version), bytes, options.signal);
    return manifest;
  }
}

/** Copies the secrets of the manifest's namespaces, and of groups. Erasing one of them in one index then leaves it in the other. */
async function copySecrets(
  index: OpenIndex,
  manifest: Manifest,
  to: IndexFolders,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const { objectName } of await index.namespaces.all(manifest)) {
    const bytes = await readObject(index.log.store, "namespace", objectName, { signal });
    if (bytes === null) throw new SealdexError("missing_object", `stored object ${objectName}: it is gone`);
    await createSame(to.configStore, objectName, bytes, signal);
  }
  for (const name of await groupSecretNames(index.log.store, index.indexId)) {
    const bytes = await readObject(index.log.store, "group", name, { signal });
    // Destroyed meanwhile: a newer manifest has none of its items.
    if (bytes !== null) await createSame(to.configStore, name, bytes, signal);
  }
}

async function copyAll(
  index: OpenIndex,
  manifest: Manifest,
  to: IndexFolders,
  options: CopyOptions,
): Promise<void> {
  const prefix = indexPrefix(index.indexId);
  const there = new Set(await to.indexStore.list(prefix, { signal: options.signal }));
  const objects: readonly (ObjectRef | SegmentRef)[] = objectRefs(manifest);
  await eachObject(objects, "copy", options, async (ref, signal) => {
    if (there.has(ref.name)) return;
    const bytes = await readVerified(index, index.store, ref, signal);
    // Stored by a copy that runs at the same time: it is verified below like the rest.
    await to.indexStore.create(ref.name, bytes, { signal });
  });
  await eachObject(objects, "verify", options, async (ref, signal) => {
    await readVerified(index, to.indexStore, ref, signal);
  });
}

/** Works on all objects, some at a time; at the first failure the others are stopped, and it is thrown. */
async function eachObject(
  objects: readonly ObjectRef[],
  phase: CopyProgress["phase"],
  { onProgress, signal, mark }: CopyOptions,
  work: (ref: ObjectRef, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const bytes = objects.reduce((sum, { length }) => sum + length, 0);
  const stop = new AbortController();
  signal?.throwIfAborted();
  const stopListening = whenAborted(signal, () => stop.abort(signal?.reason));
  const inNumber = createSemaphore(objectsAtOnce);
  const inBytes = createSemaphore(heldBytesMax);
  let [objectsDone, bytesDone] = [0, 0];
  const report = () => onProgress?.({ phase, objectsDone, bytesDone, objects: objects.length, bytes });
  try {
    report();
    const doOne = async (ref: ObjectRef) => {
      try {
        stop.signal.throwIfAborted();
        await mark.renew();
        await work(ref, stop.signal);
        objectsDone++;
        bytesDone += ref.length;
        report();
      } catch (error) {
        stop.abort(error);
        throw error;
      }
    };
    const works = objects.map((ref) => inNumber(() => inBytes(() => doOne(ref), ref.length)));
    await Promise.allSettled(works);
    stop.signal.throwIfAborted();
  } finally {
    stopListening();
  }
}

async function readVerified(
  index: OpenIndex,
  store: BlobStore,
  ref: ObjectRef | SegmentRef,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const bytes = await readParts(store, ref, signal);
  const { indexId, keys } = index;
  if ("blocks" in ref) {
    const header = Buffer.from(ref.header, "base64");
    const context = { kind: "segment", indexId, name: ref.name } as const;
    await run(verifySegment(await keysOfSegment(index, ref), { ...ref, context, header }, bytes), signal);
  } else {
    if (Buffer.from(bytes.subarray(0, headerBytes)).toString("base64") !== ref.header) {
      throw new SealdexError("corrupt", `stored object ${ref.name}: it was replaced or damaged`);
    }
    openObject(keys.data, { kind: "model", indexId, name: ref.name }, bytes);
  }
  return bytes;
}

/** The object's bytes, read in parts, and whatever is beyond its length. */
export async function readParts(
  store: BlobStore,
  { name, length }: ObjectRef,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  const offsets = Array.from({ length: Math.ceil(length / partBytes) }, (_, i) => i * partBytes);
  await Promise.all(
    offsets.map(async (offset) => {
      const wanted = Math.min(partBytes, length - offset);
      // One byte more of the last part, to see that nothing follows.
      const beyond = offset + wanted === length ? 1 : 0;
      const part = await store.read(name, { offset, length: wanted + beyond }, { signal });
      if (part === null) throw new SealdexError("missing_object", `stored object ${name}: it is gone`);
      if (part.length !== wanted) {
        throw new SealdexError(
          "corrupt",
          `stored object ${name}: expected ${length} bytes, it has more or fewer`,
        );
      }
      bytes.set(part, offset);
    }),
  );
  return bytes;
}

/** Creates the blob unless it exists with the same bytes. Throws `already_exists` if it has other bytes. */
async function createSame(
  store: BlobStore,
  name: string,
  bytes: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (await store.create(name, bytes, { signal })) return;
  if (await holdsBytes(store, name, bytes, { signal })) return;
  throw new SealdexError("already_exists", `stored object ${name}: the target holds something else`);
}
