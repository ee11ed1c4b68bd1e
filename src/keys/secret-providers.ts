/** Key providers for a passphrase and for a key file. */

import { type KeyObject, scrypt } from "node:crypto";
import { createReadStream } from "node:fs";
import { keyBytes, parseIndexKey, secretKey } from "../crypto/keys.js";
import { type ObjectContext, onlyKey, openObject, sealObject } from "../crypto/sealed-object.js";
import { SealdexError } from "../errors.js";
import type { KeyContext, KeyProvider } from "./key-provider.js";

const passphraseName = "passphrase";
const keyFileName = "key file";
/** A key and whitespace. */
const keyFileBytesMax = 1024;
/**
 * scrypt (RFC 7914) with 128 MiB and a few hundred milliseconds per guess, as OWASP recommends. All
 * wraps of an index share its salt, so a record with any number of wraps costs one computation.
 */
const scryptCost = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };
const passphraseLengthMin = 12;

/**
 * Wraps by a passphrase, stretched with scrypt. Whoever holds the storage can try passphrases, at
 * 128 MiB of memory each: use six random words or more. Throws `invalid_request` for less than 12
 * characters.
 */
export function passphraseKey(passphrase: string): KeyProvider {
  if (typeof passphrase !== "string" || passphrase.length < passphraseLengthMin) {
    throw new SealdexError(
      "invalid_request",
      `passphrase: expected at least ${passphraseLengthMin} characters`,
    );
  }
  // Equal letters can have several encodings.
  const secret = passphrase.normalize("NFKC");
  const stretched = new WeakMap<KeyContext, Promise<KeyObject>>();
  const keyFor = (context: KeyContext) => {
    const key = stretched.get(context) ?? stretch(secret, Buffer.from(context.salt, "hex"));
    stretched.set(context, key);
    return key;
  };
  return {
    name: passphraseName,
    wrap: async (key, context) => sealUnder(await keyFor(context), passphraseName, context, key),
    unwrap: async (wrapped, context) => openUnder(await keyFor(context), passphraseName, context, wrapped),
  };
}

/**
 * Wraps by the key in a file, 64 hexadecimal characters: for development. Each call reads the file.
 */
export function fileKey(path: string): KeyProvider {
  if (typeof path !== "string" || path === "") {
    throw new SealdexError("invalid_request", "key file: expected its path");
  }
  const read = async () => {
    let text = "";
    try {
      for await (const chunk of createReadStream(path, { encoding: "utf8", end: keyFileBytesMax }))
        text += chunk;
    } catch (cause) {
      throw new SealdexError("not_found", "key file: cannot be read", { cause });
    }
    return parseIndexKey(text.trim());
  };
  return {
    name: keyFileName,
    wrap: async (key, context) => sealUnder(await read(), keyFileName, context, key),
    unwrap: async (wrapped, context) => openUnder(await read(), keyFileName, context, wrapped),
  };
}

function stretch(passphrase: string, salt: Uint8Array): Promise<KeyObject> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, keyBytes, scryptCost, (error, bytes) =>
      error === null ? resolve(secretKey(bytes)) : reject(error),
    );
  });
}

function sealUnder(secret: KeyObject, name: string, context: KeyContext, key: Uint8Array): Uint8Array {
  return sealObject(onlyKey(secret), contextOf(name, context), key);
}

/** Throws `wrong_index_key` if the key was wrapped under another secret or for another index. */
function openUnder(secret: KeyObject, name: string, context: KeyContext, wrapped: Uint8Array): Uint8Array {
  try {
    return openObject(onlyKey(secret), contextOf(name, context), wrapped);
  } catch (cause) {
    throw new SealdexError("wrong_index_key", `${name}: not the one of this index`, { cause });
  }
}

function contextOf(name: string, { indexId }: KeyContext): ObjectContext {
  return { kind: "wrapped", indexId: Buffer.from(indexId, "hex"), name };
}
