/**
 * Sealed objects: everything Sealdex stores, except the clear part of the index record. docs/internals/format.md
 * §2 specifies every byte. No other file uses a cipher.
 *
 * An object is a 76-byte header and one or more blocks, each sealed with AES-256-GCM (NIST SP
 * 800-38D). Its key is derived from 32 fresh random bytes and the object's context (kind, index,
 * name) and encrypts this object only, so block numbers serve as nonces. The header commits to the
 * key: an object that was swapped, renamed or sealed under another key is detected before any block
 * is opened.
 */

import { createCipheriv, createDecipheriv, type KeyObject } from "node:crypto";
import { SealdexError } from "../errors.js";
import { deriveObjectKey, equalInConstantTime, randomSalt, saltBytes } from "./keys.js";

const magic = Buffer.from("SLDX", "latin1");
/** Of everything that is stored. Readers take no other one. */
export const formatVersion = 2;

/** Kinds of objects: a byte of the header and part of the context. */
export const objectKinds = {
  keyset: 1,
  manifest: 2,
  model: 3,
  segment: 4,
  anchor: 5,
  wrapped: 6,
  namespace: 7,
  group: 8,
  grouped: 9,
} as const;
type ObjectKind = keyof typeof objectKinds;

/** Binds an object to its name in storage. */
export interface ObjectContext {
  readonly kind: ObjectKind;
  /** 16 bytes. */
  readonly indexId: Uint8Array;
  /** Storage key of the object, or id of the item whose contents it is, in ASCII. */
  readonly name: string;
}

/** Parent keys of sealed objects. Each has a number, its generation, which headers contain. */
export interface ParentKeys {
  /** Generation of the key that seals new objects: an unsigned 32-bit integer. */
  readonly generation: number;
  /** Undefined for an unknown generation. */
  key(generation: number): KeyObject | undefined;
}

/** A single key without generations. */
export function onlyKey(key: KeyObject): ParentKeys {
  return { generation: 0, key: (generation) => (generation === 0 ? key : undefined) };
}

const generationOffset = 8;
const saltOffset = 12;
const commitmentOffset = saltOffset + saltBytes;
export const headerBytes = commitmentOffset + 32;
/** Length of salt and commitment, the rest of a header. */
export const pinBytes = headerBytes - saltOffset;
export const tagBytes = 16;

/** Seals the blocks of one new object, in order. */
export class ObjectSealer {
  readonly header: Uint8Array;
  readonly #key: KeyObject;
  #blocks = 0;

  constructor(parents: ParentKeys, context: ObjectContext) {
    const { generation } = parents;
    const parent = parents.key(generation);
    if (parent === undefined) throw new SealdexError("internal", "sealed object: unknown parent key");
    const salt = randomSalt();
    const { key, commitment } = deriveObjectKey(parent, salt, contextBytes(context));
    this.#key = key;
    this.header = Buffer.concat([headerPrefix(context.kind, generation), salt, commitment]);
  }

  /** Blocks sealed so far, which is the next block's number. */
  get blocks(): number {
    return this.#blocks;
  }

  /** Pads and seals a block; the result is 16 bytes longer than the padded plaintext. */
  seal(plaintext: Uint8Array): Uint8Array {
    return Buffer.concat(this.sealPieces([plaintext]));
  }

  /** Like `seal`, for a block in pieces, so that large pieces need not be joined. */
  sealPieces(plaintext: readonly Uint8Array[]): Uint8Array[] {
    const number = this.#blocks++;
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce(number), { authTagLength: tagBytes });
    cipher.setAAD(additionalData(this.header, number));
    const length = plaintext.reduce((sum, piece) => sum + piece.length, 0);
    const ciphertext = [...plaintext, paddingFor(length)].map((piece) => cipher.update(piece));
    cipher.final();
    return [...ciphertext, cipher.getAuthTag()];
  }
}

/** Opens blocks of one object, in any order. */
export class ObjectOpener {
  readonly #key: KeyObject;
  readonly #header: Uint8Array;
  readonly #name: string;

  /**
   * `header`: the object's 76 bytes, from the object or, better, from a sealed reference to it.
   * Throws `corrupt` unless one of these parent keys and this context made the header.
   */
  constructor(parents: ParentKeys, context: ObjectContext, header: Uint8Array) {
    this.#name = context.name;
    this.#header = header;
    if (header.length !== headerBytes) throw this.#corrupt("truncated");
    const generation = generationOf(header);
    if (!equalInConstantTime(header.subarray(0, saltOffset), headerPrefix(context.kind, generation))) {
      throw this.#corrupt(`it is not a ${context.kind} of format ${formatVersion}`);
    }
    const parent = parents.key(generation);
    if (parent === undefined) {
      throw this.#corrupt("damaged, or sealed under a key that the index record lacks");
    }
    const salt = header.subarray(saltOffset, commitmentOffset);
    const { key, commitment } = deriveObjectKey(parent, salt, contextBytes(context));
    if (!equalInConstantTime(commitment, header.subarray(commitmentOffset))) {
      throw this.#corrupt("damaged, or sealed for another place or key");
    }
    this.#key = key;
  }

  /** Returns the plaintext of block `number`. Throws `corrupt` if any bit was changed. */
  open(number: number, sealed: Uint8Array): Uint8Array {
    if (sealed.length < tagBytes) throw this.#corrupt(`block ${number} is truncated`);
    const end = sealed.length - tagBytes;
    const decipher = createDecipheriv("aes-256-gcm", this.#key, nonce(number), { authTagLength: tagBytes });
    decipher.setAAD(additionalData(this.#header, number));
    decipher.setAuthTag(sealed.subarray(end));
    const plaintext = decipher.update(sealed.subarray(0, end));
    try {
      decipher.final();
    } catch (cause) {
      plaintext.fill(0);
      throw this.#corrupt(`block ${number} was altered`, cause);
    }
    const unpadded = withoutPadding(plaintext);
    if (unpadded === undefined) throw this.#corrupt(`block ${number} is not padded`);
    return unpadded;
  }

  #corrupt(what: string, cause?: unknown): SealdexError {
    return new SealdexError("corrupt", `stored object ${this.#name}: ${what}`, { cause });
  }
}

/** Seals an object of one block. */
export function sealObject(parents: ParentKeys, context: ObjectContext, plaintext: Uint8Array): Uint8Array {
  const sealer = new ObjectSealer(parents, context);
  return Buffer.concat([sealer.header, sealer.seal(plaintext)]);
}

/** Opens an object of one block. Throws `corrupt`. */
export function openObject(parents: ParentKeys, context: ObjectContext, bytes: Uint8Array): Uint8Array {
  const opener = new ObjectOpener(parents, context, bytes.subarray(0, headerBytes));
  return opener.open(0, bytes.subarray(headerBytes));
}

/** The key generation in an object's header. Not authenticated. */
export function generationOf(header: Uint8Array): number {
  if (header.length < saltOffset) return 0;
  return Buffer.from(header.buffer, header.byteOffset, header.length).readUInt32BE(generationOffset);
}

/** The header of an object, from the part of it that kind and generation do not determine. */
export function headerOf(kind: ObjectKind, generation: number, pin: Uint8Array): Uint8Array {
  return Buffer.concat([headerPrefix(kind, generation), pin]);
}

/** The part of a header that kind and generation do not determine. */
export function pinOf(header: Uint8Array): Uint8Array {
  return header.subarray(saltOffset);
}

/** Magic, format version, kind, two zero bytes, generation. */
function headerPrefix(kind: ObjectKind, generation: number): Uint8Array {
  const prefix = Buffer.alloc(saltOffset);
  magic.copy(prefix);
  prefix[4] = formatVersion;
  prefix[5] = objectKinds[kind];
  prefix.writeUInt32BE(generation, generationOffset);
  return prefix;
}

function contextBytes({ kind, indexId, name }: ObjectContext): Uint8Array {
  // Kind and id have fixed lengths and the name comes last, so contexts never collide.
  return Buffer.concat([Buffer.of(objectKinds[kind]), indexId, Buffer.from(name)]);
}

/**
 * 96 bits: the block's number. Each key serves one object and uses each number once; more than 2^32
 * blocks throw.
 */
function nonce(number: number): Uint8Array {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(number, 8);
  return bytes;
}

function additionalData(header: Uint8Array, number: number): Uint8Array {
  const position = Buffer.alloc(4);
  position.writeUInt32BE(number);
  return Buffer.concat([header, position]);
}

// Pads blocks before they are sealed, so that lengths reveal little: to the lengths of Padmé
// (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs",
// PETS 2019). Each doubling has 16 lengths from 256 bytes to 64 KiB and 32 from there to 4 GiB.
// Besides the four-byte count, zeros are at most 12 % of a block, on average 2 % up to 64 KiB and 1
// % beyond.
// A padded block is the plaintext, zeros, and the number of zeros as a u32.

const countBytes = 4;

/** The zeros and their count, to append to a plaintext of `length` bytes. */
export function paddingFor(length: number): Uint8Array {
  const padding = Buffer.alloc(paddedLength(length + countBytes) - length);
  padding.writeUInt32LE(padding.length - countBytes, padding.length - countBytes);
  return padding;
}

/** The plaintext before the padding, in the same memory; undefined if the padding is invalid. */
export function withoutPadding(padded: Buffer): Buffer | undefined {
  const end = padded.length - countBytes;
  if (end < 0) return undefined;
  const zeros = padded.readUInt32LE(end);
  return zeros > end ? undefined : padded.subarray(0, end - zeros);
}

/** The smallest Padmé length of at least `length`, a positive integer. */
export function paddedLength(length: number): number {
  const exponent = Math.floor(Math.log2(length));
  const significantBits = Math.floor(Math.log2(Math.max(exponent, 1))) + 1;
  const granule = 2 ** Math.max(exponent - significantBits, 0);
  return Math.ceil(length / granule) * granule;
}
