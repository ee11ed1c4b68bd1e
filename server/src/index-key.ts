/** `SEALDEX_INDEX_KEY`: which key provider keeps the keys of indexes. Messages never repeat its value. */

import { awsKmsKey, fileKey, type KeyProvider, SealdexError, vaultKey } from "sealdex/core";

const variable = "SEALDEX_INDEX_KEY";

/**
 * `file:./index.key`, `aws-kms:<key ARN>`, or `vault:https://<host>/<mount>/<key>` with the token in `VAULT_TOKEN`. Throws
 * `invalid_request`.
 */
export function parseIndexKeyProvider(
  reference: string,
  environment: Readonly<Record<string, string | undefined>>,
): KeyProvider {
  const [, kind, rest] = /^(file|aws-kms|vault):(.+)$/.exec(reference) ?? [];
  switch (kind) {
    case "file":
      return fileKey(rest);
    case "aws-kms":
      return awsKmsKey({ keyId: rest });
    case "vault":
      return vaultProvider(rest, environment);
    default:
      throw invalid("expected file:, aws-kms: or vault: and which key");
  }
}

function vaultProvider(
  location: string,
  { VAULT_TOKEN, VAULT_NAMESPACE }: Readonly<Record<string, string | undefined>>,
): KeyProvider {
  if (!VAULT_TOKEN) throw invalid("expected a token in VAULT_TOKEN");
  if (!URL.canParse(location)) throw invalid("expected vault:https://host/mount/key");
  const { origin, pathname } = new URL(location);
  const path = pathname.split("/").slice(1).map(decodeURIComponent);
  const key = path.pop();
  if (!key || path.length === 0) throw invalid("expected vault:https://host/mount/key");
  return vaultKey({
    address: origin,
    mount: path.join("/"),
    key,
    token: VAULT_TOKEN,
    ...(VAULT_NAMESPACE && { namespace: VAULT_NAMESPACE }),
  });
}

function invalid(message: string): SealdexError {
  return new SealdexError("invalid_request", `${variable}: ${message}`);
}
