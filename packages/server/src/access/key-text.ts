/**
 * API keys as text: `sealdex_`, then 88 hexadecimal characters: the key's id (8 bytes), its secret
 * (32 bytes), and a checksum of both (4 bytes). Prefix and checksum let secret scanners recognize
 * keys with certainty; the id finds the record without a search.
 */

import { createHash, randomBytes } from "node:crypto";

export interface KeyText {
  /** 16 hexadecimal characters. Not secret. */
  readonly id: string;
  /** 32 random bytes. */
  readonly secret: Buffer;
}

const prefix = "sealdex_";
const idBytes = 8;
const secretBytes = 32;
const checksumBytes = 4;

export function newKeyText(): KeyText {
  return { id: randomBytes(idBytes).toString("hex"), secret: randomBytes(secretBytes) };
}

export function encodeKeyText({ id, secret }: KeyText): string {
  const text = `${prefix}${id}${secret.toString("hex")}`;
  return text + checksumOf(text);
}

/** Undefined unless `text` is an API key with a correct checksum. */
export function decodeKeyText(text: string): KeyText | undefined {
  const [, id, secret, checksum] = /^sealdex_([0-9a-f]{16})([0-9a-f]{64})([0-9a-f]{8})$/.exec(text) ?? [];
  if (id === undefined || checksumOf(`${prefix}${id}${secret}`) !== checksum) return undefined;
  return { id, secret: Buffer.from(secret, "hex") };
}

/** Whether `id` has the form of a key's id. */
export function isKeyId(id: string): boolean {
  return /^[0-9a-f]{16}$/.test(id);
}

function checksumOf(text: string): string {
  return createHash("sha256")
    .update(text)
    .digest("hex")
    .slice(0, 2 * checksumBytes);
}
