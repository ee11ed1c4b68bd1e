/** Who may open an index: its wraps, and the generations of its keys. */

import type { ManifestLog } from "../commit/manifest-log.js";
import { generationOfRef, type Manifest, objectRefs } from "../commit/manifest.js";
import { isNumbered, manifestPrefix } from "../commit/object-names.js";
import { equalInConstantTime, secretKey, type WrapKeys } from "../crypto/keys.js";
import { generationOf } from "../crypto/sealed-object.js";
import { SealdexError } from "../errors.js";
import type { KeySource } from "../keys/key-provider.js";
import { currentGeneration, type Member, newGeneration, type OwnerKeyset } from "../keys/keyset.js";
import { newWrap } from "../keys/wrap.js";
import { ownerName } from "./index-record.js";
import type { IndexDefinition } from "./stored-definition.js";
import type { ChangeKeyset, RecordAccess } from "./record-access.js";

type Owner = OwnerKeyset<IndexDefinition>;

const wrapsMax = 256;
/** As much of an object as says under which key it was sealed. */
const headerStart = { offset: 0, length: 12 };

export class IndexAccess {
  readonly #record: RecordAccess;
  readonly #log: ManifestLog;

  constructor(record: RecordAccess, log: ManifestLog) {
    this.#record = record;
    this.#log = log;
  }

  /**
   * Gives the owner another key, and everybody new data keys, in a record of its own, and commits a manifest under them, by
   * which every process learns that its keys are too old. Two small writes, whatever the size of the index.
   *
   * Throws `wrong_index_key` if another process rotated the key first. After a failure the index opens with one of the two
   * keys; the same call can be repeated.
   */
  async rotate(newKey: KeySource): Promise<void> {
    const wrap = await newWrap(newKey, this.#record.scope);
    const wrapKeys = {
      keyCheck: wrap.keyCheck,
      keyEncryption: secretKey(Uint8Array.from(wrap.keyEncryption)),
    };
    try {
      const inUse = await this.#oldestGeneration();
      await this.#replace((owner) => {
        const [own, ...others] = owner.members;
        checkOtherKey(others, wrap.keyCheck);
        const { name, access } = own;
        return this.#renewed({ ...owner, members: [{ name, access, ...wrap }, ...others] }, inUse);
      }, wrapKeys);
    } catch (error) {
      if (!(error instanceof SealdexError && error.code === "wrong_index_key")) throw error;
      // An earlier call may have stored the record and not have heard of it.
      await this.#record.adopt(newKey).catch(() => {
        throw error;
      });
    } finally {
      wrap.keyEncryption.fill(0);
    }
    await this.finishRotation();
  }

  async wraps(): Promise<Pick<Member, "name" | "access" | "expiresAt" | "provider">[]> {
    return this.#record.read(({ members }) =>
      members.map(({ name, access, expiresAt, provider }) => ({
        name,
        access,
        ...(expiresAt !== undefined && { expiresAt }),
        ...(provider && { provider }),
      })),
    );
  }

  /** Throws `already_exists` if a wrap has the name or the key, `too_large` if there are 256. */
  async addWrap(wrap: Pick<Member, "name" | "access" | "expiresAt">, source: KeySource): Promise<void> {
    // Checked before a key provider is asked.
    this.#record.keys.check("owner", this.#record.indexName);
    const made = await newWrap(source, this.#record.scope);
    try {
      await this.#replace((owner) => {
        const { members } = owner;
        if (members.some(({ name }) => name === wrap.name)) {
          throw new SealdexError("already_exists", `wrap "${wrap.name}": the name is taken`);
        }
        checkOtherKey(members, made.keyCheck);
        if (members.length >= wrapsMax) {
          throw new SealdexError("too_large", `wraps: expected at most ${wrapsMax}`);
        }
        return { ...owner, members: [...members, { ...wrap, ...made }] };
      });
    } finally {
      made.keyEncryption.fill(0);
    }
    await this.#record.deleteOlder();
  }

  /** New data keys for all but the holder of this wrap. Two small writes. Throws `not_found` if there is none of the name. */
  async revokeWrap(name: string): Promise<void> {
    const inUse = await this.#oldestGeneration();
    const isFound = await this.#replace((owner) => {
      const members = owner.members.filter((member) => member.name !== name || name === ownerName);
      return members.length === owner.members.length ? null : this.#renewed({ ...owner, members }, inUse);
    });
    // An earlier call may have been interrupted between its writes.
    if (isFound || (await this.isRotationUnfinished())) await this.finishRotation();
    if (!isFound) throw new SealdexError("not_found", `wrap "${name}": there is none that can be revoked`);
  }

  /** Whether new keys were drawn and no manifest is committed under them yet. */
  async isRotationUnfinished(): Promise<boolean> {
    return this.isOlderThanKeys(await this.#log.newest());
  }

  /** Whether a manifest was committed under other keys than those in force. */
  isOlderThanKeys({ keyGeneration }: Manifest): boolean {
    return keyGeneration < this.#record.keys.generation;
  }

  /** Commits under the keys in force and deletes the records of older ones. */
  async finishRotation(): Promise<void> {
    await this.#log.commit((latest) => latest);
    await this.#record.deleteOlder();
  }

  /**
   * Draws new keys, unless a renewal that was begun is not complete. Returns the generation that everything is to be sealed
   * under.
   */
  async beginRenewal(): Promise<number> {
    const inUse = await this.#oldestGeneration();
    const began = await this.#replace((owner) => {
      if (owner.reencrypting !== undefined) return null;
      const next = this.#renewed(owner, inUse);
      return { ...next, reencrypting: currentGeneration(next) };
    });
    if (began || (await this.isRotationUnfinished())) await this.finishRotation();
    return this.#record.read(({ reencrypting, ...owner }) => reencrypting ?? currentGeneration(owner));
  }

  /** Notes that everything is sealed under keys of that generation or newer, and forgets keys that nothing needs. */
  async endRenewal(generation: number): Promise<void> {
    const inUse = await this.#oldestGeneration();
    await this.#replace((owner) => {
      if (owner.reencrypting !== generation) return null;
      const { reencrypting: _, ...rest } = owner;
      return { ...rest, generations: rest.generations.filter(({ number }) => number >= inUse) };
    });
    await this.#record.deleteOlder();
  }

  /**
   * Stores the next record. Another process may delete the index meanwhile: it lists the records once more after its last commit.
   * Either that list has this record, or the commit is seen here: then the record is deleted and the call throws `not_found`.
   */
  async #replace(change: ChangeKeyset, wrapKeys?: WrapKeys): Promise<boolean> {
    if (!(await this.#record.replace(change, wrapKeys))) return false;
    try {
      await this.#log.newest();
    } catch (error) {
      if (error instanceof SealdexError && error.code === "not_found") await this.#record.deleteAll();
      throw error;
    }
    return true;
  }

  /** New keys for the members whose access has not expired, without those that nothing needs. */
  #renewed(owner: Owner, inUse: number): Owner {
    const now = this.#log.now();
    const { generation, signingSeed } = newGeneration(currentGeneration(owner) + 1);
    return {
      ...owner,
      generations: [...owner.generations.filter(({ number }) => number >= inUse), generation],
      signingSeed,
      members: owner.members.filter(({ expiresAt = Infinity }) => expiresAt > now),
    };
  }

  /** The oldest generation of keys that stored manifests, or objects of the newest one, are sealed under. */
  async #oldestGeneration(): Promise<number> {
    const manifest = await this.#log.newest();
    const named = objectRefs(manifest).map(generationOfRef);
    const prefix = manifestPrefix(this.#record.scope.indexId);
    const names = (await this.#log.store.list(prefix)).filter((name) => isNumbered(name, prefix));
    const oldest =
      names.length === 0 ? null : await this.#log.store.read(names[names.length - 1], headerStart);
    return Math.min(manifest.keyGeneration, ...named, oldest === null ? Infinity : generationOf(oldest));
  }
}

/** Throws `already_exists` if one of these wraps has the key already: then the key would open either. */
function checkOtherKey(members: readonly Member[], keyCheck: Uint8Array): void {
  const same = members.find((member) => equalInConstantTime(member.keyCheck, keyCheck));
  if (same !== undefined) throw new SealdexError("already_exists", `wrap "${same.name}": it has this key`);
}
