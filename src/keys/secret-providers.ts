/** Key providers for a passphrase and for a key file. */

import { type KeyObject, randomBytes, scrypt } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { link, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { invalid, typeName } from "../checks/input.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { generateKey, isHexKey, keyBytes, parseIndexKey, secretKey } from "../crypto/keys.js";
import { type ObjectContext, onlyKey, openObject, sealObject } from "../crypto/sealed-object.js";
import { SealdexError } from "../errors.js";
import { isError } from "../checks/value-kinds.js";
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

/** Options of `fileKey`. */
export interface FileKeyOptions {
  /** Creates the file with a new key if an index is created and there is no file. Default false. */
  readonly create?: boolean | undefined;
}

const fileKeyOptions = optionNames<FileKeyOptions>("fileKey", { create: true });

/**
 * Wraps by the key in a file: 64 hexadecimal characters, and white space around them. For
 * development, and for programs on one machine. Each call reads the file. Without the file, the
 * index cannot be opened, so keep a copy of it.
 */
export function fileKey(path: string, options: FileKeyOptions = {}): KeyProvider {
  if (typeof path !== "string" || path === "") {
    throw new SealdexError("invalid_request", "key file: expected its path");
  }
  checkNoKey(path);
  const { create = false } = takeOptions(options, fileKeyOptions);
  if (typeof create !== "boolean")
    throw invalid(`fileKey: create: expected a boolean, got ${typeName(create)}`);
  return {
    name: keyFileName,
    async wrap(key, context) {
      if (create) await createKeyFile(path);
      return sealUnder(await readKeyFile(path), keyFileName, context, key);
    },
    // Never creates the file: a new key would not open the index.
    unwrap: async (wrapped, context) => openUnder(await readKeyFile(path), keyFileName, context, wrapped),
  };
}

/** Errors would repeat a key instead of the path, and a new file would be named by it. */
function checkNoKey(path: string): void {
  if (isHexKey(path)) throw invalid("key file: expected its path, got a key");
}

async function readKeyFile(path: string): Promise<KeyObject> {
  let text = "";
  try {
    for await (const chunk of createReadStream(path, { encoding: "utf8", end: keyFileBytesMax }))
      text += chunk;
  } catch (cause) {
    const hint =
      isError(cause) && cause.code === "ENOENT"
        ? "there is none at its path. With { create: true }, a new index gets one; for an index that exists, restore a copy of it"
        : "cannot be read";
    throw new SealdexError("not_found", `key file: ${hint}`, { cause });
  }
  return parseIndexKey(text.trim());
}

/**
 * Creates a key file, readable by its owner only, unless there is one: returns whether it did. The
 * file appears with its key; of several processes, one creates it.
 */
export async function createKeyFile(path: string): Promise<boolean> {
  checkNoKey(path);
  if (existsSync(path)) return false;
  const draft = `${path}.${randomBytes(8).toString("hex")}.tmp`;
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(`${generateKey()}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(draft, path);
    await syncFolder(dirname(path));
    return true;
  } catch (cause) {
    // Another process created it in between.
    if (isError(cause) && cause.code === "EEXIST") return false;
    const hint = isError(cause) && cause.code === "ENOENT" ? ": there is no folder for it" : "";
    throw new SealdexError("not_found", `key file: cannot be created${hint}`, { cause });
  } finally {
    await rm(draft, { force: true });
  }
}

/** Makes the name of a new file survive a power failure. Windows cannot open folders. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
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
    throw new SealdexError(
      "wrong_index_key",
      `${name}: it does not open this index, which was created with another`,
      { cause },
    );
  }
}

function contextOf(name: string, { indexId }: KeyContext): ObjectContext {
  return { kind: "wrapped", indexId: Buffer.from(indexId, "hex"), name };
}
