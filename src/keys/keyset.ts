/**
 * Keysets: the keys of a wrap's holder, sealed under the wrap's key. docs/internals/format.md §3.
 *
 * Readers get the keys that open stored objects and verify commits; writers also the key that signs
 * commits; the owner also the key-encryption keys of all wraps, to give every holder new keys
 * without knowing theirs.
 */

import { randomBytes } from "node:crypto";
import { keyBytes } from "../crypto/keys.js";
import {
  base64,
  type Check,
  checkStored,
  integer,
  listOf,
  Misfit,
  oneOf,
  optional,
  parseStored,
  record,
  textUpTo,
  timeMax,
} from "../checks/stored-json.js";
import { newSigningSeed, signingKey, signingKeyBytes, verifyKeyOf } from "../crypto/signing.js";
import { own } from "../checks/value-kinds.js";

/** Access of a wrap's holder. The owner may do everything, and only the owner manages keys. */
export type Access = "owner" | "read-write" | "read-only";

/** A generation of data and signing keys. Every change of the readers starts a new one. */
export interface KeyGeneration {
  /** 1 at creation, then ascending. */
  readonly number: number;
  /**
   * Manifests from this version on are committed under this generation or a later one. Absent while
   * unknown.
   */
  readonly since?: number;
  /** 32 bytes, from which the data key is derived. */
  readonly secret: Uint8Array;
  /** 32 bytes: the public key of this generation's signatures. */
  readonly verifyKey: Uint8Array;
}

/** One wrap as the owner knows it. */
export interface Member {
  readonly name: string;
  readonly access: Access;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number;
  /** 32 bytes. */
  readonly keyCheck: Uint8Array;
  /** 32 bytes. */
  readonly keyEncryption: Uint8Array;
  /** The key provider's name and the key as it wrapped it, if a provider holds the wrap's key. */
  readonly provider?: { readonly name: string; readonly wrapped: Uint8Array };
}

/** Keys that all holders share. */
export interface SharedKeys {
  /** 32 bytes, from which the lasting keys are derived. */
  readonly indexSecret: Uint8Array;
  /** Ascending; the last one is in force. */
  readonly generations: readonly KeyGeneration[];
}

export interface Keyset<Definition> extends SharedKeys {
  readonly name: string;
  readonly access: Access;
  readonly expiresAt?: number;
  /** Seed of the key that signs commits of the generation in force. Writers only. */
  readonly signingSeed?: Uint8Array;
  /** Owner only. The first is the owner. */
  readonly members?: readonly Member[];
  /** `reencrypt` renews data keys up to this generation. */
  readonly reencrypting?: number;
  readonly definition: Definition;
}

export type OwnerKeyset<Definition> = Keyset<Definition> &
  Required<Pick<Keyset<Definition>, "signingSeed" | "members">>;

export function isOwners<D>(keyset: Keyset<D>): keyset is OwnerKeyset<D> {
  return keyset.members !== undefined && keyset.signingSeed !== undefined;
}

export function currentGeneration({ generations }: SharedKeys): number {
  return generations[generations.length - 1].number;
}

export function newSharedKeys(): SharedKeys & { readonly signingSeed: Uint8Array } {
  const { generation, signingSeed } = newGeneration(1);
  return { indexSecret: randomBytes(keyBytes), generations: [{ ...generation, since: 1 }], signingSeed };
}

export function newGeneration(number: number): { generation: KeyGeneration; signingSeed: Uint8Array } {
  const signingSeed = newSigningSeed();
  const verifyKey = verifyKeyOf(signingKey(signingSeed));
  return { generation: { number, secret: randomBytes(keyBytes), verifyKey }, signingSeed };
}

/** Derives a member's keyset from the owner's. */
export function keysetFor<D>(owner: OwnerKeyset<D>, member: Member): Keyset<D> {
  const { name, access, expiresAt } = own(member);
  const { indexSecret, generations, signingSeed, members, reencrypting, definition } = owner;
  return {
    name,
    access,
    ...(expiresAt !== undefined && { expiresAt }),
    indexSecret,
    generations,
    ...(access !== "read-only" && { signingSeed }),
    ...(access === "owner" && { members }),
    ...(reencrypting !== undefined && { reencrypting }),
    definition,
  };
}

/** The text part of a keyset. Secrets follow as bytes, since only bytes can be zeroed. */
interface KeysetText<D> {
  readonly name: string;
  readonly access: Access;
  readonly expiresAt?: number;
  readonly generations: readonly Pick<KeyGeneration, "number" | "since">[];
  readonly reencrypting?: number;
  readonly members?: readonly MemberText[];
  readonly definition: D;
}

interface MemberText {
  readonly name: string;
  readonly access: Access;
  readonly expiresAt?: number;
  /** Base64. */
  readonly keyCheck: string;
  readonly provider?: { readonly name: string; readonly wrapped: string };
}

/** The caller zeroes the result after use. */
export function encodeKeyset<D>(keyset: Keyset<D>): Uint8Array {
  const { indexSecret, generations, signingSeed, members, ...rest } = keyset;
  const text: KeysetText<D> = {
    ...rest,
    generations: generations.map(({ number, since }) => ({ number, ...(since !== undefined && { since }) })),
    ...(members !== undefined && { members: members.map(memberText) }),
  };
  const json = Buffer.from(JSON.stringify(text), "utf8");
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([
    length,
    json,
    indexSecret,
    ...generations.flatMap(({ secret, verifyKey }) => [secret, verifyKey]),
    ...(signingSeed === undefined ? [] : [signingSeed]),
    ...(members ?? []).map(({ keyEncryption }) => keyEncryption),
  ]);
}

/** Leaves as many greater numbers. */
export const generationMax = 2 ** 31;
const holder = {
  name: textUpTo(128),
  access: oneOf<Access>("owner", "read-write", "read-only"),
  expiresAt: optional(integer(0, timeMax)),
};

function keysetShape<D>(definition: Check<D>): Check<KeysetText<D>> {
  const check = record<KeysetText<D>>({
    ...holder,
    generations: listOf(
      record<Pick<KeyGeneration, "number" | "since">>({
        number: integer(1, generationMax),
        since: optional(integer(1)),
      }),
      1,
    ),
    reencrypting: optional(integer(1, generationMax)),
    members: optional(
      listOf(
        record<MemberText>({
          ...holder,
          keyCheck: base64(keyBytes),
          provider: optional(record({ name: textUpTo(), wrapped: base64(0, Infinity) })),
        }),
        1,
      ),
    ),
    definition,
  });
  return (value) => {
    const keyset = check(value);
    const { generations, members } = keyset;
    if (generations.some(({ number }, i) => i > 0 && number <= generations[i - 1].number))
      throw new Misfit("ascending numbers", ".generations");
    if ((members !== undefined) !== (keyset.access === "owner"))
      throw new Misfit("the owner's keyset alone to have them", ".members");
    return keyset;
  };
}

/**
 * Parses a keyset whose secrets share the memory of `bytes`. `object` names it in messages. Throws
 * `corrupt`.
 */
export function decodeKeyset<D>(bytes: Uint8Array, object: string, definition: Check<D>): Keyset<D> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = bytes.length < 4 ? Infinity : 4 + buffer.readUInt32LE();
  const { generations, members, ...rest } = parseStored(
    bytes.subarray(4, at),
    object,
    keysetShape(definition),
  );
  const isWriters = rest.access !== "read-only";
  const secrets = 1 + 2 * generations.length + (isWriters ? 1 : 0) + (members?.length ?? 0);
  checkStored(object, () => {
    if (bytes.length !== at + keyBytes * secrets) throw new Misfit(`${secrets} secrets after its text`);
  });
  const take = (length: number) => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  return {
    ...rest,
    indexSecret: take(keyBytes),
    generations: generations.map((generation) => ({
      ...generation,
      secret: take(keyBytes),
      verifyKey: take(signingKeyBytes),
    })),
    ...(isWriters && { signingSeed: take(signingKeyBytes) }),
    ...(members !== undefined && {
      members: members.map((member) => memberOf(member, take(keyBytes))),
    }),
  };
}

function memberText(member: Member): MemberText {
  const { name, access, expiresAt, keyCheck, provider } = own(member);
  return {
    name,
    access,
    ...(expiresAt !== undefined && { expiresAt }),
    keyCheck: Buffer.from(keyCheck).toString("base64"),
    ...(provider && {
      provider: { name: provider.name, wrapped: Buffer.from(provider.wrapped).toString("base64") },
    }),
  };
}

function memberOf({ keyCheck, provider, ...rest }: MemberText, keyEncryption: Uint8Array): Member {
  return {
    ...rest,
    keyCheck: Buffer.from(keyCheck, "base64"),
    keyEncryption,
    ...(provider && {
      provider: { name: provider.name, wrapped: Buffer.from(provider.wrapped, "base64") },
    }),
  };
}
