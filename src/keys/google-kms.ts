/** A key of Google Cloud KMS, through its REST interface. */

import { SealdexError } from "../errors.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { checkServiceUrl, checkToken, postKeyRequest, textAt } from "./http-provider.js";
import type { KeyContext, KeyProvider } from "./key-provider.js";

/** Options of `googleKmsKey`. */
export interface GoogleKmsKeyOptions {
  /** `projects/…/locations/…/keyRings/…/cryptoKeys/…`. */
  readonly name: string;
  /**
   * Returns a valid OAuth access token with the scope `cloudkms`, like `GoogleAuth.getAccessToken`.
   */
  readonly accessToken: () => string | Promise<string>;
  /** An https URL. Default `https://cloudkms.googleapis.com`. */
  readonly endpoint?: string;
}

const service = "Google Cloud KMS";
const optionsOf = optionNames<GoogleKmsKeyOptions>("googleKmsKey", {
  name: true,
  accessToken: true,
  endpoint: true,
});
const namePattern = /^projects\/[^/?#]+\/locations\/[^/?#]+\/keyRings\/[^/?#]+\/cryptoKeys\/[^/?#]+$/;

/**
 * The index's identity is authenticated: a wrapped key opens no other index. Throws
 * `invalid_request`.
 */
export function googleKmsKey(options: GoogleKmsKeyOptions): KeyProvider {
  options = takeOptions(options, optionsOf);
  const { name, accessToken, endpoint } = options;
  if (typeof name !== "string" || !namePattern.test(name)) {
    throw new SealdexError(
      "invalid_request",
      "name: expected projects/…/locations/…/keyRings/…/cryptoKeys/…",
    );
  }
  const base = checkServiceUrl(endpoint ?? "https://cloudkms.googleapis.com", "endpoint");
  const call = async (verb: string, { indexId }: KeyContext, body: object) =>
    postKeyRequest({
      service,
      url: `${base}/v1/${name}:${verb}`,
      headers: { Authorization: `Bearer ${checkToken(await accessToken(), service)}` },
      body: { ...body, additionalAuthenticatedData: Buffer.from(indexId, "hex").toString("base64") },
    });
  return {
    name: `google-kms:${name}`,
    async wrap(key, context) {
      const answer = await call("encrypt", context, { plaintext: Buffer.from(key).toString("base64") });
      return Buffer.from(textAt(answer, ["ciphertext"], service), "base64");
    },
    async unwrap(wrapped, context) {
      const answer = await call("decrypt", context, { ciphertext: Buffer.from(wrapped).toString("base64") });
      return Buffer.from(textAt(answer, ["plaintext"], service), "base64");
    },
  };
}
