/**
 * Items that have expired. Each process hides them by a segment of tombstones that it makes for itself, in memory, newer than all
 * that are stored: whatever reads a snapshot needs to know nothing of time, and a rewrite drops them as it drops deleted ones.
 */

import { randomUUID } from "node:crypto";
import { type Manifest, nextSequence } from "../../state/commit/manifest.js";
import { headerBytes } from "../../crypto/sealed-object.js";
import { codecToWrite } from "../../engine/scan/choose-codec.js";
import { ExpiryPage } from "../../state/segment/expiries.js";
import { fingerprintWords } from "../../state/segment/id-table.js";
import type { IndexCache } from "../../state/cache/index-cache.js";
import { rowsOf } from "../../state/segment/row.js";
import { vectorRows } from "../../state/segment/row-source.js";
import { SegmentReader } from "../../state/segment/segment-reader.js";
import { writeSegment } from "../../state/segment/segment-writer.js";
import { createMemoryStore } from "../../storage/memory.js";
import { run } from "../../engine/threads/run.js";
import { forEachYielding } from "../../async/event-loop.js";
import type { ObjectOwner } from "./segment-keys.js";
import type { Expired, OpenSegment, Snapshot } from "./snapshot.js";

/** Items of a snapshot's stored segments that have expired by `now`. */
export async function findExpired(snapshot: Snapshot, now: number): Promise<Expired> {
  const items = new Map<OpenSegment, readonly Uint8Array[]>();
  let next = Infinity;
  for (const segment of snapshot.stored) {
    const found = await expiredRows(segment.reader, now);
    next = Math.min(next, found.next);
    if (found.fingerprints.length === 0) continue;
    const words = fingerprintWords(found.fingerprints);
    const shadow = await snapshot.pinShadow(segment);
    const live: Uint8Array[] = [];
    try {
      await forEachYielding(found.fingerprints.length, (i) => {
        const [w0, w1, w2, w3] = words.subarray(4 * i, 4 * i + 4);
        if (!shadow.has(w0, w1, w2, w3)) live.push(found.fingerprints[i]);
      });
    } finally {
      shadow.release();
    }
    if (live.length > 0) items.set(segment, live);
  }
  return { items, next, asOf: now };
}

async function expiredRows(
  reader: SegmentReader,
  now: number,
): Promise<{ readonly fingerprints: Uint8Array[]; readonly next: number }> {
  const { expiries } = reader.footer;
  const fingerprints: Uint8Array[] = [];
  const begun = expiries.filter(({ firstTime }) => firstTime <= now);
  let next = expiries[begun.length]?.firstTime ?? Infinity;
  const pages = await reader.load(begun, ({ firstTime }, plaintext) => new ExpiryPage(plaintext, firstTime));
  for (const page of pages) {
    await forEachYielding(page.count, (i) => {
      const time = page.time(i);
      if (time <= now) fingerprints.push(page.fingerprint(i));
      else next = Math.min(next, time);
    });
  }
  return { fingerprints, next };
}

/** Segments that delete these items, one per namespace, newer than those of the manifest. They are stored nowhere. */
export async function tombstoneSegments(
  owner: ObjectOwner,
  manifest: Manifest,
  items: Expired["items"],
  cache: IndexCache,
): Promise<OpenSegment[]> {
  const groups = new Map<
    string | undefined,
    { readonly like: OpenSegment; readonly deleted: Uint8Array[] }
  >();
  for (const [segment, fingerprints] of items) {
    const { namespace } = segment.ref;
    const group = groups.get(namespace) ?? { like: segment, deleted: [] };
    groups.set(namespace, group);
    for (const fingerprint of fingerprints) group.deleted.push(fingerprint);
  }
  const made = Array.from(groups.values(), async ({ like, deleted }): Promise<OpenSegment> => {
    const { dimension } = like.reader.footer;
    const { ref, reader } = await tombstoneSegment(owner, manifest, deleted, dimension, cache);
    return { ...like, ref: { ...ref, ...(like.ref.namespace && { namespace: like.ref.namespace }) }, reader };
  });
  return Promise.all(made);
}

async function tombstoneSegment(
  { indexId, keys, config }: ObjectOwner,
  manifest: Manifest,
  deleted: readonly Uint8Array[],
  dimension: number,
  cache: IndexCache,
): Promise<OpenSegment> {
  const name = `expired/${randomUUID().replaceAll("-", "")}`;
  const context = { kind: "segment", indexId, name } as const;
  const batch = { dimension, rows: rowsOf([]), source: vectorRows([], dimension), deleted };
  const codec = codecToWrite(config, dimension, undefined);
  const encoding = { codec, spills: false, toListSpace: (vectors: Float32Array) => vectors };
  const { bytes, blocks, footerLength } = await run(writeSegment(keys.data, context, batch, encoding));
  const store = createMemoryStore();
  await store.create(name, bytes, {});
  const header = bytes.subarray(0, headerBytes);
  const sizes = { length: bytes.length, rows: 0, deleted: deleted.length, blocks, footerLength };
  const location = { context, header, ...sizes };
  const reader = await SegmentReader.open(keys.data, location, async () => codec, store, cache);
  const sequence = nextSequence(manifest);
  const ref = { name, header: Buffer.from(header).toString("base64"), sequence, ...sizes };
  return { ref, reader };
}
