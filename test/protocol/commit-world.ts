/** Parts for tests of commits alone: keys of several generations, chains of manifests, and stores that count and interfere. */

import { signingKey, verifyKeyOf } from "../../src/crypto/signing.js";
import type { IndexIdentity } from "../../src/state/commit/index-folder.js";
import { emptyManifest, type Manifest, type SegmentRef } from "../../src/state/commit/manifest.js";
import { type SealedManifest, sealManifest } from "../../src/state/commit/stored-manifest.js";
import { ManifestLog } from "../../src/state/commit/manifest-log.js";
import { manifestName } from "../../src/state/commit/object-names.js";
import { KeyRing } from "../../src/keys/key-ring.js";
import type { Keyset } from "../../src/keys/keyset.js";
import type { BlobStore, ListOptions } from "../../src/storage/blob-store.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { StandingClock } from "./standing-clock.js";

export const indexId = new Uint8Array(16).fill(7);
export const otherId = new Uint8Array(16).fill(9);

/** The keyset of a writer to whom the generations up to `last` were given. `since`: from which version on that one counts, if it is known. */
export function keysetUpTo(last: number, since?: number): Keyset<unknown> {
  const seedOf = (number: number) => new Uint8Array(32).fill(100 + number);
  const generations = Array.from({ length: last }, (_, i) => ({
    number: i + 1,
    secret: new Uint8Array(32).fill(50 + i),
    verifyKey: verifyKeyOf(signingKey(seedOf(i + 1))),
    ...(i + 1 === last && since !== undefined && { since }),
  }));
  return {
    name: "owner",
    access: "owner",
    indexSecret: new Uint8Array(32).fill(42),
    generations,
    signingSeed: seedOf(last),
    definition: {},
  };
}

export function keysUpTo(last: number, since?: number): KeyRing {
  return new KeyRing(indexId, keysetUpTo(last, since));
}

export function identityOf(keys: KeyRing, indexName = "borders"): IndexIdentity {
  return { indexName, indexId, keys, renewKeys: async () => {} };
}

export const digestOf = (n: number) => n.toString(16).padStart(64, "0");

/** A manifest after another, by a writer with these keys. */
export function sealAfter(
  before: SealedManifest,
  keys: KeyRing,
  changes: Partial<Manifest> = {},
): SealedManifest {
  const { manifest, digest } = before;
  return sealManifest(keys, indexId, {
    ...manifest,
    version: manifest.version + 1,
    previous: digest,
    keyGeneration: keys.generation,
    ...changes,
  });
}

/** Manifests 1 to `length` of one history. `floor`: those before it may be deleted, as those from it on say. */
export function chain(length: number, keys: KeyRing, floor = 1): SealedManifest[] {
  const manifests = [sealManifest(keys, indexId, { ...emptyManifest(0), keyGeneration: keys.generation })];
  while (manifests.length < length) {
    const next = Math.min(floor, manifests.length + 1);
    const history = { floor: next, next, since: 0 };
    manifests.push(sealAfter(manifests[manifests.length - 1], keys, { history }));
  }
  return manifests;
}

export const nameOf = (version: number) => manifestName(indexId, version);

/** A change that changes nothing. */
export const same = (latest: Manifest) => latest;

export async function storeAll(store: BlobStore, manifests: readonly SealedManifest[]): Promise<void> {
  for (const { manifest, bytes } of manifests) await store.create(nameOf(manifest.version), bytes);
}

export function segmentRef(name: string, changes: Partial<SegmentRef> = {}): SegmentRef {
  return {
    name,
    header: "",
    length: 1,
    sequence: 1,
    rows: 1,
    deleted: 0,
    blocks: 1,
    footerLength: 1,
    ...changes,
  };
}

/** A store in memory that records its calls, and calls `before` of a kind of call first. */
export function recordingStore() {
  const store = createMemoryStore();
  const reads: string[] = [];
  const creates: string[] = [];
  const deletes: string[] = [];
  const lists: { readonly prefix: string; readonly options: ListOptions | undefined }[] = [];
  const before = { read: async (_key: string) => {}, create: async (_key: string) => {} };
  const recording: BlobStore = {
    ...store,
    async read(key, range) {
      reads.push(key);
      await before.read(key);
      return store.read(key, range);
    },
    async create(key, bytes) {
      creates.push(key);
      await before.create(key);
      return store.create(key, bytes);
    },
    list(prefix, options) {
      lists.push({ prefix, options });
      return store.list(prefix, options);
    },
    delete(keys) {
      deletes.push(...keys);
      return store.delete(keys);
    },
  };
  return {
    store: recording,
    /** The same, of which nothing is written down. */
    quiet: store,
    before,
    reads,
    creates,
    deletes,
    lists,
    /** Forgets the recorded calls. */
    reset(): void {
      for (const calls of [reads, creates, deletes, lists]) calls.length = 0;
    },
  };
}

/** How many reads of a recording store are made together, from now on, wave by wave. */
export function wavesOf(before: { read: (key: string) => Promise<void> }): readonly number[] {
  const waves: number[] = [];
  let asked = 0;
  before.read = async () => {
    asked++;
    await new Promise(setImmediate);
    if (asked > 0) waves.push(asked);
    asked = 0;
  };
  return waves;
}

/** A clock in which a pause takes its whole time, and is written down. */
export class PausingClock extends StandingClock {
  readonly pauses: number[] = [];
  /** Happens after each pause. */
  afterPause: () => Promise<unknown> = async () => {};
  override pause = async (ms: number): Promise<void> => {
    this.pauses.push(ms);
    this.advance(ms);
    await this.afterPause();
  };
}

/** A new index, and logs of processes that share its storage and its time. */
export async function newLog() {
  const recording = recordingStore();
  const clock = new PausingClock();
  const open = (store: BlobStore = recording.quiet, keys: KeyRing = keysUpTo(1)) =>
    new ManifestLog(store, identityOf(keys), clock);
  const own = open(recording.store);
  await own.createFirst();
  const costs = () => ({
    reads: recording.reads.length,
    creates: recording.creates.length,
    lists: recording.lists.length,
  });
  recording.reset();
  return { ...recording, clock, open, own, costs };
}
