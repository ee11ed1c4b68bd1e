/**
 * Renewal of data keys: every object that an older generation of keys sealed is sealed again, block by block, and takes the
 * place of the old one. Rows, lists and codes stay as they are. The index is in use meanwhile: each object is a commit of its own,
 * so an interrupted renewal continues where it ended.
 */

import {
  areCommittable,
  generationOfRef,
  type Manifest,
  objectRefs,
  type ObjectRef,
  type SegmentRef,
} from "../../state/commit/manifest.js";
import { newObjectName, type IndexObjectKind } from "../../state/commit/object-names.js";
import { headerBytes, openObject, sealObject } from "../../crypto/sealed-object.js";
import { SealdexError } from "../../errors.js";
import { resealSegment } from "../../state/segment/verify.js";
import { run } from "../../engine/threads/run.js";
import { readParts } from "./copy-objects.js";
import { keysOfSegment } from "../../query/snapshot/segment-keys.js";
import type { OpenIndex } from "../open/open-index.js";

/** Throws `forbidden` unless the index was opened with its owner's key. */
export async function reencrypt(index: OpenIndex, signal: AbortSignal | undefined): Promise<void> {
  index.keys.check("owner", index.indexName);
  await index.rewriting.rewrite(signal, async () => {
    const generation = await index.access.beginRenewal();
    for (;;) {
      signal?.throwIfAborted();
      const manifest = await index.log.newest();
      const isOld = (ref: ObjectRef) => generationOfRef(ref) < generation;
      const { model } = manifest;
      const segment = manifest.segments.find(isOld);
      if (model !== undefined && isOld(model)) await renew(index, model, "model", signal);
      else if (segment !== undefined) await renew(index, segment, "segment", signal);
      else break;
    }
    await index.access.settle(generation);
  });
}

/** Seals one object again. If other processes replaced it meanwhile, nothing of the attempt stays. */
async function renew(
  index: OpenIndex,
  ref: ObjectRef | SegmentRef,
  kind: IndexObjectKind,
  signal: AbortSignal | undefined,
): Promise<void> {
  const name = newObjectName(index.indexId, kind, index.log.knownVersion);
  const bytes = await reseal(index, ref, name, signal);
  if (bytes === undefined) return;
  const renewed = await index.writer.create(name, bytes, signal);
  const committed = await index.log.commit((latest) => {
    if (signal?.aborted || !areCommittable(latest, [renewed])) return null;
    return replaceObject(latest, ref.name, renewed);
  });
  if (committed === null) await index.store.delete([name]);
}

/** The object's bytes under a new name and the keys in force; undefined if other processes have replaced it. */
async function reseal(
  index: OpenIndex,
  ref: ObjectRef | SegmentRef,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | undefined> {
  const { indexId, keys } = index;
  try {
    const bytes = await readParts(index.store, ref, signal);
    if ("blocks" in ref) {
      const header = Buffer.from(ref.header, "base64");
      const location = { ...ref, context: { kind: "segment", indexId, name: ref.name } as const, header };
      const parents = await keysOfSegment(index, ref);
      return await run(resealSegment(parents, location, bytes, { kind: "segment", indexId, name }), signal);
    }
    if (Buffer.from(bytes.subarray(0, headerBytes)).toString("base64") !== ref.header) {
      throw new SealdexError("corrupt", `stored object ${ref.name}: it was replaced or damaged`);
    }
    const plaintext = openObject(keys.data, { kind: "model", indexId, name: ref.name }, bytes);
    return sealObject(keys.data, { kind: "model", indexId, name }, plaintext);
  } catch (error) {
    const isGone = error instanceof SealdexError && error.code === "missing_object";
    if (isGone && !isNamed(await index.log.newest(), ref.name)) return undefined;
    throw error;
  }
}

function isNamed(manifest: Manifest, name: string): boolean {
  return objectRefs(manifest).some((ref) => ref.name === name);
}

/** The manifest with one object in the place of another that has the same content; null if it does not name that. */
function replaceObject(latest: Manifest, name: string, renewed: ObjectRef): Manifest | null {
  if (!isNamed(latest, name)) return null;
  const replace = <T extends ObjectRef>(ref: T): T => (ref.name === name ? { ...ref, ...renewed } : ref);
  const { model, segments, droppedObjects } = latest;
  return {
    ...latest,
    ...(model && { model: replace(model) }),
    segments: segments.map((ref) => ({
      ...replace(ref),
      ...(ref.model === name && { model: renewed.name }),
    })),
    droppedObjects: [...droppedObjects, name],
  };
}
