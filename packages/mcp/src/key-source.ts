/** The key of the index: a file, the keyring of the system, a key management service. Never an argument of a tool. */

import { readFile } from "node:fs/promises";
import type { IndexKey } from "sealdex/core";
import { expandHome } from "./location.js";

type Environment = Readonly<Record<string, string | undefined>>;

export interface KeyReference {
  readonly reference: string;
  /** Whether a new index may make a new key. */
  readonly create: boolean;
  readonly environment: Environment;
}

/** Refuses another reference, without repeating it: it may be a key by mistake. */
export function checkReference(reference: string): void {
  if (/^(file|passphrase-file|keyring|aws-kms|vault):./.test(reference)) return;
  throw new Error("--key: expected file:, passphrase-file:, keyring:, aws-kms: or vault:, and which key");
}

/** Opens `file:…`, `passphrase-file:…`, `keyring:…`, `aws-kms:…` or `vault:…`. */
export async function openKeySource({ reference, create, environment }: KeyReference): Promise<IndexKey> {
  const [, kind, rest = ""] = /^([a-z-]+):(.+)$/.exec(reference) ?? [];
  const { awsKmsKey, fileKey, passphraseKey, vaultKey } = await import("sealdex/core");
  switch (kind) {
    case "file":
      return fileKey(expandHome(rest), { create });
    case "passphrase-file":
      return passphraseKey((await readFile(expandHome(rest), "utf8")).replace(/[\r\n]+$/, ""));
    case "aws-kms":
      return awsKmsKey({ keyId: rest });
    case "vault": {
      const { VAULT_TOKEN: token, VAULT_NAMESPACE: namespace } = environment;
      const { origin, pathname } = new URL(rest);
      const path = pathname.split("/").slice(1).map(decodeURIComponent);
      const key = path.pop() ?? "";
      if (!token) throw new Error("--key vault: expected a token in VAULT_TOKEN");
      return vaultKey({
        address: origin,
        mount: path.join("/"),
        key,
        token,
        ...(namespace && { namespace }),
      });
    }
    default:
      return keyOfKeyring(rest, create);
  }
}

const keyringService = "sealdex";

async function keyOfKeyring(name: string, create: boolean): Promise<string> {
  const { generateKey } = await import("sealdex/core");
  const { Entry } = await import("@napi-rs/keyring").catch((cause: unknown) => {
    throw new Error("--key keyring: @napi-rs/keyring is not installed for this system", { cause });
  });
  let key: string | null;
  try {
    // The other keyring of Linux forgets keys when the machine restarts.
    const entry = new Entry(keyringService, name, { linux: { store: "secret-service" } });
    key = entry.getPassword();
    if (key === null && create) {
      key = generateKey();
      entry.setPassword(key);
    }
  } catch (cause) {
    throw new Error("--key keyring: the keyring of this system does not respond", { cause });
  }
  if (key === null) throw new Error(`--key keyring: there is no key ${JSON.stringify(name)}`);
  return key;
}
