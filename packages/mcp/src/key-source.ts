/** The key of the index: a file, the keyring of the system, a key management service. Never an argument of a tool. */

import { mkdir, readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname } from "node:path";
import type { IndexKey } from "sealdex/core";
import { expandHome } from "./location.js";

type Environment = Readonly<Record<string, string | undefined>>;

export interface KeyReference {
  readonly reference: string;
  /** Whether a new index may make a new key. */
  readonly create: boolean;
  readonly environment: Environment;
}

export interface KeySource {
  readonly indexKey: IndexKey;
  /** Called once the key has created an index: another process may have replaced it in the meantime. */
  readonly keep?: () => void;
}

/** Refuses another reference, without repeating it: it may be a key by mistake. */
export function checkReference(reference: string): void {
  if (/^(file|passphrase-file|keyring|aws-kms|vault):./.test(reference)) return;
  throw new Error("--key: expected file:, passphrase-file:, keyring:, aws-kms: or vault:, and which key");
}

/** Opens `file:…`, `passphrase-file:…`, `keyring:…`, `aws-kms:…` or `vault:…`. */
export async function openKeySource({ reference, create, environment }: KeyReference): Promise<KeySource> {
  const [, kind, rest = ""] = /^([a-z-]+):(.+)$/.exec(reference) ?? [];
  const { awsKmsKey, fileKey, passphraseKey, vaultKey } = await import("sealdex/core");
  switch (kind) {
    case "file": {
      const path = expandHome(rest);
      // A new machine has no ~/.sealdex yet.
      if (create) await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      return { indexKey: fileKey(path, { create }) };
    }
    case "passphrase-file": {
      const passphrase = (await readFile(expandHome(rest), "utf8")).replace(/[\r\n]+$/, "");
      return { indexKey: passphraseKey(passphrase) };
    }
    case "aws-kms":
      return { indexKey: awsKmsKey({ keyId: rest }) };
    case "vault": {
      const { VAULT_TOKEN: token, VAULT_NAMESPACE: namespace } = environment;
      const { origin, pathname } = new URL(rest);
      const path = pathname.split("/").slice(1).map(decodeURIComponent);
      const key = path.pop() ?? "";
      if (!token) throw new Error("--key vault: expected a token in VAULT_TOKEN");
      const place = { address: origin, mount: path.join("/"), key };
      return { indexKey: vaultKey({ ...place, token, ...(namespace && { namespace }) }) };
    }
    default:
      return keyOfKeyring(rest, create);
  }
}

const keyringService = "sealdex";

async function keyOfKeyring(name: string, create: boolean): Promise<KeySource> {
  const { generateKey, SealdexError } = await import("sealdex/core");
  const { Entry } = await import("@napi-rs/keyring").catch((cause: unknown) => {
    throw new SealdexError("not_supported", "keyring: there is no @napi-rs/keyring for this system", {
      cause,
    });
  });
  // Clients start servers with few variables of the environment; this is where systemd has the bus.
  if (process.platform === "linux")
    process.env.DBUS_SESSION_BUS_ADDRESS ??= `unix:path=/run/user/${userInfo().uid}/bus`;
  try {
    // The other keyring of Linux forgets keys when the machine restarts.
    const entry = new Entry(keyringService, name, { linux: { store: "secret-service" } });
    const found = entry.getPassword();
    if (found !== null) return { indexKey: found };
    if (create) {
      const key = generateKey();
      entry.setPassword(key);
      return { indexKey: key, keep: () => entry.setPassword(key) };
    }
  } catch (cause) {
    throw new SealdexError("storage_unavailable", "keyring: it does not respond", { cause });
  }
  throw new SealdexError("not_found", `keyring: there is no key ${JSON.stringify(name)}`);
}
