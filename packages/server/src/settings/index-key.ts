/** `SEALDEX_INDEX_KEY`: the key provider of index keys. Messages never repeat its value. */

import {
  awsKmsKey,
  fileKey,
  googleKmsKey,
  type KeyProvider,
  passphraseKey,
  SealdexError,
  vaultKey,
} from "sealdex/core";
import { invalid } from "sealdex/wire";
import { googleTokens } from "./google-token.js";
import { readSecret } from "./secret-file.js";
import { readTextFile } from "../http/text-file.js";

const variable = "SEALDEX_INDEX_KEY";

type Environment = Readonly<Record<string, string | undefined>>;

const kinds: Readonly<Record<string, (rest: string, environment: Environment) => KeyProvider>> = {
  file: fileProvider,
  "passphrase-file": (path) => passphraseKey(readTextFile(path).replace(/[\r\n]+$/, "")),
  "aws-kms": (keyId) => awsKmsKey({ keyId }),
  "google-kms": googleProvider,
  vault: vaultProvider,
};

/**
 * `file:./index.key`, `passphrase-file:./passphrase`, `aws-kms:<key ARN>`, `google-kms:<resource
 * name>`, or `vault:https://<host>/<mount>/<key>`. Credentials come from the environment. Throws
 * `invalid_request`.
 */
export function parseIndexKeyProvider(reference: string, environment: Environment): KeyProvider {
  try {
    const [, kind = "", rest = ""] = /^([a-z-]+):(.+)$/.exec(reference) ?? [];
    if (Object.hasOwn(kinds, kind)) return kinds[kind](rest, environment);
    throw invalid(`expected ${Object.keys(kinds).join(":, ")}: and which key`);
  } catch (error) {
    // The message of another error, for example for invalid percent-encoding, may quote the value.
    throw invalid(
      `${variable}: ${error instanceof SealdexError ? error.message : "expected a valid reference"}`,
    );
  }
}

/** Checked now: later, a missing file would look like a missing index to clients. */
function fileProvider(path: string): KeyProvider {
  // Refuses a key instead of the path, which the messages below would repeat.
  const provider = fileKey(path);
  if (!/^\s*[\da-f]{64}\s*$/i.test(readTextFile(path))) {
    throw invalid(`${path}: expected a file with a key, 64 hexadecimal characters`);
  }
  return provider;
}

/** `?endpoint=https://…` for a regional or private endpoint. */
function googleProvider(reference: string, environment: Environment): KeyProvider {
  const [name, query = ""] = reference.split("?");
  const { endpoint, ...others } = Object.fromEntries(new URLSearchParams(query));
  if (Object.keys(others).length > 0) throw invalid("expected google-kms:projects/…?endpoint=https://…");
  return googleKmsKey({ name, accessToken: googleTokens(environment), ...(endpoint && { endpoint }) });
}

function vaultProvider(location: string, environment: Environment): KeyProvider {
  const { VAULT_TOKEN, VAULT_TOKEN_FILE, VAULT_NAMESPACE } = environment;
  if (!VAULT_TOKEN === !VAULT_TOKEN_FILE) {
    throw invalid("expected a token in VAULT_TOKEN, or a file with one in VAULT_TOKEN_FILE");
  }
  if (!URL.canParse(location)) throw invalid("expected vault:https://host/mount/key");
  const { origin, pathname } = new URL(location);
  const path = pathname.split("/").slice(1).map(decodeURIComponent);
  const key = path.pop();
  if (!key || path.length === 0) throw invalid("expected vault:https://host/mount/key");
  return vaultKey({
    address: origin,
    mount: path.join("/"),
    key,
    token: VAULT_TOKEN || (() => readSecret(VAULT_TOKEN_FILE ?? "", "VAULT_TOKEN_FILE")),
    ...(VAULT_NAMESPACE && { namespace: VAULT_NAMESPACE }),
  });
}
