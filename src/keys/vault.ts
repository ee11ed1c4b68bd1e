/** A key of HashiCorp Vault or OpenBao, in the Transit secrets engine. */

import { optionNames, takeOptions } from "../checks/option-names.js";
import { checkServiceUrl, checkToken, postKeyRequest, textAt } from "./http-provider.js";
import type { KeyContext, KeyProvider } from "./key-provider.js";

/** Options of `vaultKey`. */
export interface VaultKeyOptions {
  /** For example `https://vault.example.com:8200`. */
  readonly address: string;
  /** The name of the Transit key. */
  readonly key: string;
  /**
   * A token whose policy permits `update` of `<mount>/encrypt/<key>` and `<mount>/decrypt/<key>`,
   * or a function that returns one.
   */
  readonly token: string | (() => string | Promise<string>);
  /** Mount path of the engine. Default `transit`. */
  readonly mount?: string;
  /** Namespace of Vault Enterprise or OpenBao. Default: none. */
  readonly namespace?: string;
}

const service = "Vault";
const optionsOf = optionNames<VaultKeyOptions>("vaultKey", {
  address: true,
  key: true,
  token: true,
  mount: true,
  namespace: true,
});

/**
 * The index's identity is authenticated: a wrapped key opens no other index. Throws
 * `invalid_request`.
 */
export function vaultKey(options: VaultKeyOptions): KeyProvider {
  options = takeOptions(options, optionsOf);
  const { address, key, token, mount = "transit", namespace } = options;
  const base = checkServiceUrl(address, "address");
  const urlOf = (verb: string) => {
    const path = [...mount.split("/"), verb, key].map(encodeURIComponent);
    return `${base}/v1/${path.join("/")}`;
  };
  const call = async (verb: string, { indexId }: KeyContext, body: object) =>
    postKeyRequest({
      service,
      url: urlOf(verb),
      headers: {
        "X-Vault-Token": checkToken(typeof token === "string" ? token : await token(), service),
        "X-Vault-Request": "true",
        ...(namespace !== undefined && { "X-Vault-Namespace": namespace }),
      },
      body: { ...body, associated_data: Buffer.from(indexId, "hex").toString("base64") },
    });
  return {
    name: `vault:${new URL(base).host}/${mount}/${key}`,
    async wrap(plain, context) {
      const plaintext = Buffer.from(plain).toString("base64");
      return Buffer.from(
        textAt(await call("encrypt", context, { plaintext }), ["data", "ciphertext"], service),
      );
    },
    async unwrap(wrapped, context) {
      const ciphertext = Buffer.from(wrapped).toString("utf8");
      const answer = await call("decrypt", context, { ciphertext });
      return Buffer.from(textAt(answer, ["data", "plaintext"], service), "base64");
    },
  };
}
