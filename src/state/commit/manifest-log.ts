/**
 * The sequence of an index's manifests, and how the next one is created: creating it is the commit.
 *
 * Words: the *known* manifest is the newest that this process has seen, the *newest* is asked of storage, and the *latest* is
 * the state to which a change is applied.
 */

import { randomBytes } from "node:crypto";
import { own } from "../../checks/value-kinds.js";
import { SealdexError } from "../../errors.js";
import type { BlobStore } from "../../storage/blob-store.js";
import type { Anchor } from "./anchor.js";
import type { AnchoredHistory } from "./anchored-history.js";
import { type Clock, elapsedMs, instant } from "./clock.js";
import { createConfirmed } from "./create-confirmed.js";
import type { IndexIdentity, ListedObjects } from "./index-folder.js";
import { ManifestReader, type SeenManifest } from "./manifest-reader.js";
import { type CollectionMembers, emptyManifest, type Manifest } from "./manifest.js";
import { manifestName } from "./object-names.js";
import { advanceWatermark, historyMs, uploadMs } from "./retention.js";
import { type SealedManifest, sealManifest } from "./stored-manifest.js";

const contentionPauseMsMax = 50;
/** How long a commit builds on the known manifest without asking: after that, other processes have probably written. */
const optimisticMs = 10_000;

export class ManifestLog {
  /** Where the manifests are. */
  readonly store: BlobStore;
  readonly #index: IndexIdentity;
  readonly #clock: Clock;
  readonly #history: AnchoredHistory | undefined;
  readonly #reader: ManifestReader;
  #waiting: Pending[] = [];
  #committing = false;
  /** Whether another process had committed since the known manifest when this one last did. */
  #isContended = false;
  /** The known manifest, as `prepareCommit` found it stored. */
  #confirmed: SeenManifest | undefined;
  #preparing: Promise<void> | undefined;
  /** The one that was asked for last by its digest. */
  #asked: SealedManifest | undefined;
  /** Undefined until a manifest says it, if either kind may be opened. */
  #isCollection: boolean | undefined;
  readonly #onCommit: (before: Manifest, committed: Manifest) => void;

  /**
   * `history`: manifests that are read must descend from its anchors, and commits are anchored.
   * `onCommit`: called with each commit of this process and the manifest that it follows.
   * `isCollection`: whether manifests have shards instead of segments; undefined: as the first one that is read says.
   */
  constructor(
    store: BlobStore,
    index: IndexIdentity,
    clock: Clock,
    history?: AnchoredHistory,
    onCommit: (before: Manifest, committed: Manifest) => void = () => undefined,
    isCollection?: boolean,
  ) {
    this.#isCollection = isCollection;
    this.#onCommit = onCommit;
    this.store = store;
    this.#index = index;
    this.#clock = clock;
    this.#history = history;
    this.#reader = new ManifestReader(store, index, clock, history);
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#clock.wall();
  }

  /** Stores version 1 of a new index or collection. */
  async createFirst(members?: CollectionMembers): Promise<void> {
    const { keys, indexId } = this.#index;
    const at = instant(this.#clock);
    const sealed = sealManifest(keys, indexId, emptyManifest(at.wall, members));
    await createConfirmed(this.store, manifestName(indexId, 1), sealed.bytes);
    this.#reader.remember({ sealed, at });
  }

  /** Whether version 1 of a new index is certainly still there, for the record that will name it. */
  async exists(): Promise<boolean> {
    const { known } = this.#reader;
    return known !== undefined && (this.#reader.isFresh(known) || this.#reader.isStillStored(known.sealed));
  }

  /** Anchors version 1, once a record names the index. */
  async anchorBeginning(): Promise<void> {
    const { known } = this.#reader;
    if (known !== undefined) await this.#history?.committed(known.sealed);
  }

  /** Anchors the newest manifest, which a writer may have stored and not anchored. */
  async anchorNewest(): Promise<void> {
    await this.#history?.committed((await this.#reader.newest()).sealed);
  }

  /** Marks a deleted index in the anchor location. */
  async end(): Promise<void> {
    await this.#history?.end();
  }

  /** The known manifest; undefined if there is none, or the index was deleted. */
  get known(): Manifest | undefined {
    const manifest = this.#reader.known?.sealed.manifest;
    return manifest?.dropped ? undefined : manifest;
  }

  /** The version of the known manifest. */
  get knownVersion(): number {
    return this.#reader.known?.sealed.manifest.version ?? 1;
  }

  /** The known manifest; asks storage only if there is none. For values that the commit checks again. */
  async knownOrNewest(): Promise<Manifest> {
    return this.#live(this.#reader.known ?? (await this.#reader.newest()));
  }

  /**
   * The newest manifest: every commit acknowledged before this call is in it; with `maxStalenessMs`, every commit
   * acknowledged that long before, and all of this process. Throws `not_found` if the index was deleted.
   */
  async newest(maxStalenessMs = 0): Promise<Manifest> {
    return this.recent(maxStalenessMs) ?? this.#live(await this.#reader.newest());
  }

  /** The newest listed manifest; may miss commits made since. Throws `not_found` if the index was deleted. */
  async newestListed(listed: ListedObjects): Promise<Manifest> {
    return this.#live(await this.#reader.newest(listed));
  }

  /** The known manifest if it was the newest at most `maxStalenessMs` ago. Throws `not_found` if the index was deleted. */
  recent(maxStalenessMs: number): Manifest | undefined {
    const { known } = this.#reader;
    if (maxStalenessMs === 0 || known === undefined) return undefined;
    return elapsedMs(this.#clock, known.at) <= maxStalenessMs ? this.#live(known) : undefined;
  }

  /** As `newest`, if that is the known one and nothing has to be waited for; else undefined. */
  newestNow(maxStalenessMs: number): Manifest | undefined {
    const recent = this.recent(maxStalenessMs);
    if (recent !== undefined) return recent;
    const seen = this.#reader.newestNow();
    return seen && this.#live(seen);
  }

  /** The newest manifest as it is stored, also if it says that the index was deleted. */
  async newestSealed(): Promise<SealedManifest> {
    const { sealed } = await this.#reader.newest();
    this.#checkKind(sealed.manifest);
    return sealed;
  }

  /** The manifest of exactly this state. Throws `missing_object` if it was deleted, `rollback_detected` if it is another. */
  async manifestOf({ version, digest }: Omit<Anchor, "indexId">): Promise<Manifest> {
    const isThis = (each?: SealedManifest) => each?.digest === digest && each.manifest.version === version;
    const kept = [this.#reader.known?.sealed, this.#asked].find(isThis);
    const sealed = kept ?? (await this.#reader.read(version));
    const name = `index "${this.#index.indexName}": manifest ${version}`;
    if (sealed === null) throw new SealdexError("missing_object", `${name} is gone`);
    if (sealed.digest !== digest) throw new SealdexError("rollback_detected", `${name} is another`);
    this.#asked = sealed;
    return this.#live({ sealed });
  }

  /** A manifest by its number; null if it was deleted, or never was. */
  async manifestAt(version: number): Promise<Manifest | null> {
    return (await this.#reader.read(version))?.manifest ?? null;
  }

  /**
   * Applies a change to the newest manifest and returns the result, or null if the change declined. If another writer
   * commits first, the change is applied again, to that writer's state. If this rejects with `storage_unavailable`, the
   * change may or may not have been made. `holder`: of the reservation that the change was promised, see `reserveNextCommit`.
   */
  commit(change: Change, holder?: string): Promise<Manifest | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, holder, resolve, reject });
      if (!this.#committing) void this.#commitWaiting();
    });
  }

  /**
   * Claims the next commit for a change that has to read the others' commits first, and that would keep losing the
   * race to faster ones. Others wait for it for `ms` at most. Returns the holder to commit it with.
   */
  async reserveNextCommit(ms: number): Promise<string> {
    const holder = randomBytes(16).toString("hex");
    await this.commit((latest) => ({ ...latest, reservation: { holder, ms } }));
    return holder;
  }

  /** Releases a reservation that will not be used. */
  async releaseReservation(holder: string): Promise<void> {
    if (this.known?.reservation?.holder === holder) await this.commit((latest) => latest, holder);
  }

  /**
   * Looks whether the known manifest is still stored, while a writer stores the objects of a commit, which then need not wait for
   * the answer. If this fails, the commit looks itself.
   */
  prepareCommit(): Promise<void> {
    this.#preparing ??= this.#look()
      .catch(() => undefined)
      .finally(() => (this.#preparing = undefined));
    return this.#preparing;
  }

  async #look(): Promise<void> {
    const at = instant(this.#clock);
    const sealed = this.#reader.known?.sealed;
    if (sealed !== undefined && (await this.#reader.isStillStored(sealed))) this.#confirmed = { sealed, at };
  }

  async #commitWaiting(): Promise<void> {
    this.#committing = true;
    for (let lost = 0; this.#waiting.length > 0;) {
      // Usually no other process has written since: then creating the next manifest is all it takes.
      if (await this.#commitGroup(lost === 0)) lost = 0;
      // The first manifest that won the race is simply read.
      else if (lost++ > 0) await this.#clock.pause(Math.min(contentionPauseMsMax, 2 ** lost));
    }
    this.#committing = false;
  }

  /** Commits, or rejects, the waiting changes. Returns false if another writer was first: then the changes keep waiting. */
  async #commitGroup(isOptimistic: boolean): Promise<boolean> {
    let base: SeenManifest;
    let latest: Manifest;
    try {
      const { known } = this.#reader;
      const isRecent = known !== undefined && elapsedMs(this.#clock, known.at) < optimisticMs;
      // Beside another writer, the known manifest is behind: a create that loses takes longer than a look.
      const isEnough = isOptimistic && isRecent && !this.#isContended;
      const seen = isEnough ? known : await this.#reader.newest();
      this.#isContended = known !== undefined && seen.sealed.manifest.version > known.sealed.manifest.version;
      base = await this.#confirm(await this.#waitForReservation(seen));
      latest = this.#live(base);
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
      return true;
    }
    const { draft, members, deferred } = applyChanges(latest, this.#waiting.splice(0));
    this.#waiting.unshift(...deferred);
    if (members.length === 0) return true;
    let next: SealedManifest;
    try {
      const at = instant(this.#clock);
      next = this.#follow(base.sealed, draft);
      if (!(await this.#append(next, base))) {
        this.#waiting.unshift(...members);
        return false;
      }
      await this.#anchor(next);
      this.#reader.remember({ sealed: next, at });
    } catch (error) {
      for (const { reject } of members) reject(error);
      return true;
    }
    this.#onCommit(latest, next.manifest);
    for (const { resolve } of members) resolve(next.manifest);
    return true;
  }

  /**
   * The manifest to commit after: this one, or a newer one if it was deleted. Throws `rollback_detected` if an older state is stored
   * instead, such as that of a restored backup, which a commit would hide.
   */
  async #confirm(base: SeenManifest): Promise<SeenManifest> {
    const confirmed = this.#confirmed;
    this.#confirmed = undefined;
    const isConfirmed =
      confirmed?.sealed === base.sealed && elapsedMs(this.#clock, confirmed.at) < optimisticMs;
    return isConfirmed || (await this.#reader.isStillStored(base.sealed))
      ? base
      : this.#reader.locate(base, true);
  }

  /** Waits while the next commit is promised to a change that does not wait here. Returns the newest manifest. */
  async #waitForReservation(base: SeenManifest): Promise<SeenManifest> {
    let since = instant(this.#clock);
    for (let pauseMs = 2; ; pauseMs *= 2) {
      const { reservation, version } = base.sealed.manifest;
      if (reservation === undefined || this.#waiting.some(({ holder }) => holder === reservation.holder))
        return base;
      // The holder gave up, or is gone.
      if (elapsedMs(this.#clock, since) >= reservation.ms) return base;
      await this.#clock.pause(Math.min(contentionPauseMsMax, pauseMs));
      base = await this.#reader.newest();
      if (base.sealed.manifest.version > version) since = instant(this.#clock);
    }
  }

  /** Anchors a commit before it is acknowledged. */
  async #anchor(next: SealedManifest): Promise<void> {
    if (this.#history === undefined) return;
    await this.#history.committed(next);
    const anchor = await this.#history.anchor();
    // Either others have continued from here, or storage was rolled back and this commit built on an old state.
    if (anchor !== undefined && anchor.version > next.manifest.version) await this.#reader.newest();
  }

  #follow({ manifest, digest }: SealedManifest, draft: Manifest): SealedManifest {
    const version = manifest.version + 1;
    const now = this.now();
    return sealManifest(this.#index.keys, this.#index.indexId, {
      ...draft,
      version,
      previous: digest,
      history: advanceWatermark(draft.history, version, now, historyMs),
      uploads: advanceWatermark(draft.uploads, version, now, uploadMs),
    });
  }

  /** Whether `next` is now the manifest after `base`, also if the acknowledgement was lost. */
  async #append(next: SealedManifest, base: SeenManifest): Promise<boolean> {
    const { version } = next.manifest;
    const created = await createConfirmed(this.store, manifestName(this.#index.indexId, version), next.bytes);
    if (this.#reader.isFresh(base) || (await this.#reader.isStillStored(base.sealed))) return created;
    // Its predecessor is gone, so its place may have been free only because it was deleted. The manifest after it decides: if
    // this one was not part of the sequence, that one does not name it; and if it was, it is not gone before that one.
    const after = await this.#reader.read(version + 1);
    if (after !== null) return after.manifest.previous === next.digest;
    if (
      (await this.#reader.isStillStored(next)) &&
      (await this.#reader.locate()).sealed.manifest.version > version
    )
      return false;
    throw new SealdexError(
      "storage_unavailable",
      `index "${this.#index.indexName}": the write was delayed for so long that its outcome cannot be determined`,
    );
  }

  #live({ sealed: { manifest } }: Pick<SeenManifest, "sealed">): Manifest {
    const { indexName, keys } = this.#index;
    if (manifest.dropped) throw new SealdexError("not_found", `index "${indexName}": it was deleted`);
    keys.checkUnexpired(indexName, this.now());
    this.#checkKind(manifest);
    return manifest;
  }

  #checkKind({ shards }: Manifest): void {
    this.#isCollection ??= shards !== undefined;
    if ((shards !== undefined) === this.#isCollection) return;
    const index = `index "${this.#index.indexName}"`;
    throw this.#isCollection
      ? new SealdexError(
          "invalid_request",
          `${index}: expected a collection, it is an index; use loadIndex and deleteIndex`,
        )
      : new SealdexError("not_supported", `${index}: expected an index, it is a collection`);
  }
}

// Group commit: changes of one process that wait at the same time become one manifest.

/** Applies a change to the latest manifest; the log adds the rest. Null: nothing to do after all. */
export type Change = (latest: Manifest) => Omit<Manifest, "version" | "previous"> | null;

/** A change that waits to be committed. */
export interface Pending {
  readonly change: Change;
  /** The holder of its reservation. */
  readonly holder?: string | undefined;
  resolve(committed: Manifest | null): void;
  reject(reason: unknown): void;
}

interface CommitGroup {
  /** The latest manifest with all changes of the group applied. */
  readonly draft: Manifest;
  /** Changes in the draft: they settle when it is stored. */
  readonly members: readonly Pending[];
  /** Changes that declined or threw after others of the group: they are retried on the group's result. */
  readonly deferred: readonly Pending[];
}

/**
 * Applies changes to a manifest, one after the other: first the one that reserved this commit. A change that declines, or throws,
 * settles only if the state it saw is stored: the other changes of the group may yet fail.
 */
export function applyChanges(latest: Manifest, waiting: readonly Pending[]): CommitGroup {
  const { reservation, ...rest } = latest;
  const isPromised = ({ holder }: Pending) => reservation !== undefined && holder === reservation.holder;
  const ordered = [...waiting.filter(isPromised), ...waiting.filter((pending) => !isPromised(pending))];
  let draft: Manifest = own({ ...rest, droppedObjects: [] });
  const members: Pending[] = [];
  const deferred: Pending[] = [];
  for (const pending of ordered) {
    let changed: ReturnType<Change>;
    try {
      changed = pending.change(draft);
    } catch (error) {
      if (members.length > 0) deferred.push(pending);
      else pending.reject(error);
      continue;
    }
    if (changed !== null) {
      draft = own({ ...changed, version: latest.version, previous: latest.previous });
      members.push(pending);
    } else if (members.length > 0) deferred.push(pending);
    else pending.resolve(null);
  }
  return { draft, members, deferred };
}
