/** Who may open an index: its wraps, and the generations of its keys. */

import type { ManifestLog } from "../../state/commit/manifest-log.js";
import { generationOfRef, type Manifest, objectRefs } from "../../state/commit/manifest.js";
import { storedGenerations } from "../../state/commit/read-object.js";
import { equalInConstantTime, secretKey, type WrapKeys } from "../../crypto/keys.js";
import { SealdexError } from "../../errors.js";
import type { KeySource } from "../../keys/key-provider.js";
import { type Member, newGeneration, type OwnerKeyset } from "../../keys/keyset.js";
import { newWrap, wrapsMax } from "../../keys/wrap.js";
import { ownerName } from "./index-record.js";
import type { IndexDefinition } from "./stored-definition.js";
import type { ChangeKeyset, RecordAccess, RecordOutcome } from "./record-access.js";
import { own } from "../../checks/value-kinds.js";

type Owner = OwnerKeyset<IndexDefinition>;

export class IndexAccess {
  readonly #record: RecordAccess;
  readonly #log: ManifestLog;

  constructor(record: RecordAccess, log: ManifestLog) {
    this.#record = record;
    this.#log = log;
  }

  /**
   * Gives the owner another key, and everybody new data keys. Throws `wrong_index_key` if another process rotated the key first. After a
   * failure the index opens with one of the two keys; the same call can be repeated.
   */
  async rotate(newKey: KeySource): Promise<void> {
    const wrap = await newWrap(newKey, this.#record.scope);
    const wrapKeys = {
      keyCheck: wrap.keyCheck,
      keyEncryption: secretKey(Uint8Array.from(wrap.keyEncryption)),
    };
    try {
      await this.#drawKeys((owner) => {
        const [holder, ...others] = owner.members;
        checkOtherKey(others, wrap.keyCheck);
        const { name, access } = holder;
        return { ...owner, members: [{ name, access, ...wrap }, ...others] };
      }, wrapKeys);
    } catch (error) {
      if (!(error instanceof SealdexError && error.code === "wrong_index_key")) throw error;
      // An earlier call may have made the change and not have heard of it.
      await this.#record.adopt(newKey, this.#record.keys.generation).catch(() => {
        throw error;
      });
      await this.settle();
    } finally {
      wrap.keyEncryption.fill(0);
    }
  }

  async wraps(): Promise<
    (Pick<Member, "name" | "access"> & { readonly [N in "expiresAt" | "provider"]: Member[N] | undefined })[]
  > {
    const { keyGeneration } = await this.#log.newest();
    return this.#record.read(keyGeneration, ({ members }) =>
      members.map((member) => {
        const { name, access, expiresAt, provider } = own(member);
        return { name, access, expiresAt, provider };
      }),
    );
  }

  /** Throws `already_exists` if a wrap has the name or the key, `too_large` if there are 256. */
  async addWrap(wrap: Pick<Member, "name" | "access" | "expiresAt">, source: KeySource): Promise<void> {
    // Checked before a key provider is asked.
    this.#record.keys.check("owner", this.#record.indexName);
    const made = await newWrap(source, this.#record.scope);
    const add = (owner: Owner) => {
      const { members } = owner;
      if (members.some(({ name }) => name === wrap.name)) {
        throw new SealdexError("already_exists", `wrap "${wrap.name}": the name is taken`);
      }
      checkOtherKey(members, made.keyCheck);
      if (members.length >= wrapsMax) {
        throw new SealdexError("too_large", `wraps: expected at most ${wrapsMax}`);
      }
      return { ...owner, members: [...members, { ...wrap, ...made }] };
    };
    try {
      const { keyGeneration } = await this.#log.newest();
      const outcome = await this.#store(keyGeneration, add, { isLast: true });
      // An incomplete proposal of another writer is out of force once there are newer keys.
      if (outcome === "overtaken") await this.#drawKeys(add);
      else await this.#record.deleteOlder(keyGeneration);
    } finally {
      made.keyEncryption.fill(0);
    }
  }

  /** New data keys for all but the holder of this wrap. Throws `not_found` if there is none of the name. */
  async revokeWrap(name: string): Promise<void> {
    const isFound = await this.#drawKeys((owner) => {
      const members = owner.members.filter((member) => member.name !== name || name === ownerName);
      return members.length === owner.members.length ? null : { ...owner, members };
    });
    if (isFound) return;
    // An earlier call may have been interrupted after its commit.
    await this.settle();
    throw new SealdexError("not_found", `wrap "${name}": there is none that can be revoked`);
  }

  /** Whether there may be something for `settle` to do, once `manifest` is the newest. */
  isUnsettled(manifest: Manifest): boolean {
    const { keys } = this.#record;
    return keys.access === "owner" && (keys.since === undefined || oldestNamed(manifest) > keys.oldest);
  }

  /**
   * Notes from which version on the keys in force count, unless that is noted, and lets go of older keys that nothing needs any more, and
   * of records before. `renewed`: the generation under which everything is sealed after a renewal.
   */
  async settle(renewed?: number): Promise<RecordOutcome> {
    const manifest = await this.#log.newest();
    const { keyGeneration, version } = manifest;
    const inUse = await this.#oldestGeneration(manifest);
    const change = ({ reencrypting, ...owner }: Owner) => {
      const isRenewed = reencrypting !== undefined && reencrypting === renewed;
      const generations = owner.generations
        .filter(({ number }) => number >= inUse)
        .map((one) => (one.number === keyGeneration ? { since: version, ...one } : one));
      const isNoted = owner.generations[owner.generations.length - 1].since !== undefined;
      if (isNoted && !isRenewed && generations.length === owner.generations.length) return null;
      return {
        ...owner,
        generations,
        ...(reencrypting !== undefined && !isRenewed && { reencrypting }),
      };
    };
    const outcome = await this.#store(keyGeneration, change, { isLast: true });
    await this.#record.deleteOlder(keyGeneration);
    return outcome;
  }

  /** Completes a change of keys that was interrupted after its commit. */
  async completeChange(): Promise<void> {
    // If others proposed keys and do not complete that, newer keys end it.
    if ((await this.settle()) === "overtaken") await this.#drawKeys((owner) => owner);
  }

  /**
   * Draws new keys, unless a renewal that was begun is not complete. Returns the generation that everything is to be sealed
   * under.
   */
  async beginRenewal(): Promise<number> {
    const began = await this.#drawKeys((owner, generation) =>
      owner.reencrypting === undefined ? { ...owner, reencrypting: generation } : null,
    );
    if (!began) await this.settle();
    const { keyGeneration } = await this.#log.newest();
    return this.#record.read(keyGeneration, ({ reencrypting }) => reencrypting ?? keyGeneration);
  }

  /**
   * Changes the owner's keyset and adds a generation of keys, in three small writes, whatever the size of the index: a record that proposes
   * both, a manifest under the new keys, which brings the record into force and tells every process, and a record that says from which
   * version on they count. Returns false if `change` declined.
   */
  async #drawKeys(change: ChangeKeyset, wrapKeys?: WrapKeys): Promise<boolean> {
    for (;;) {
      const { keyGeneration } = await this.#log.newest();
      const draw: ChangeKeyset = (owner, unused) => {
        const changed = change(owner, unused);
        return changed && this.#withNewKeys(changed, unused);
      };
      const proposed = await this.#store(keyGeneration, draw, { isLast: false, wrapKeys });
      if (typeof proposed === "string") return false;
      const { generation } = proposed;
      const committed = await this.#log.commit((latest) =>
        latest.keyGeneration === keyGeneration ? { ...latest, keyGeneration: generation } : null,
      );
      // Else other keys came into force first, by a record that does not know of this change.
      if (committed !== null) break;
    }
    if (wrapKeys !== undefined) this.#record.useWrap(wrapKeys);
    await this.settle();
    return true;
  }

  /**
   * Stores a record. Another process may delete the index meanwhile: it lists the records once more after its last commit.
   * Either that list has this record, or the commit is seen here: then the record is deleted and the call throws `not_found`.
   */
  async #store(
    generation: number,
    change: ChangeKeyset,
    options: Parameters<RecordAccess["store"]>[2],
  ): Promise<RecordOutcome> {
    const outcome = await this.#record.store(generation, change, options);
    if (typeof outcome === "string") return outcome;
    try {
      await this.#log.newest();
    } catch (error) {
      if (error instanceof SealdexError && error.code === "not_found") await this.#record.deleteAll();
      throw error;
    }
    return outcome;
  }

  /** New keys for the members whose access has not expired. */
  #withNewKeys(owner: Owner, number: number): Owner {
    const now = this.#log.now();
    const { generation, signingSeed } = newGeneration(number);
    return {
      ...owner,
      generations: [...owner.generations, generation],
      signingSeed,
      members: owner.members.filter((member) => (own(member).expiresAt ?? Infinity) > now),
    };
  }

  /** The oldest generation of keys that stored manifests, or objects of the newest one, are sealed under. */
  async #oldestGeneration(manifest: Manifest): Promise<number> {
    const { oldest = Infinity } = await storedGenerations(this.#log.store, this.#record.scope.indexId);
    return Math.min(oldestNamed(manifest), oldest);
  }
}

/** The oldest generation that a manifest and its objects are sealed under. */
function oldestNamed(manifest: Manifest): number {
  const refs = objectRefs(manifest);
  return refs.reduce((least, ref) => Math.min(least, generationOfRef(ref)), manifest.keyGeneration);
}

/** Throws `already_exists` if one of these wraps has the key already: then the key would open either. */
function checkOtherKey(members: readonly Member[], keyCheck: Uint8Array): void {
  const same = members.find((member) => equalInConstantTime(member.keyCheck, keyCheck));
  if (same !== undefined)
    throw new SealdexError("already_exists", `wrap "${same.name}": it already has this key`);
}
