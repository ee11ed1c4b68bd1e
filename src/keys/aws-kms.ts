/** A key of AWS KMS, through `@aws-sdk/client-kms`, loaded at the first call. */

import type * as Sdk from "@aws-sdk/client-kms";
import { SealdexError } from "../errors.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { checkPeer, type PeerPackage, peerFailure } from "../checks/peer-package.js";
import { type KeyContext, type KeyProvider, refusal } from "./key-provider.js";
import { isError } from "../checks/value-kinds.js";

/** A `KMSClient` of `@aws-sdk/client-kms`: the members that distinguish it from other values. */
export interface KmsClientLike {
  send(command: never): Promise<unknown>;
  destroy(): void;
}

/** Options of `awsKmsKey`. */
export interface AwsKmsKeyOptions {
  /** The ARN of a symmetric key, or of an alias. */
  readonly keyId: string;
  /** Default: a client with the region and credentials of the environment. */
  readonly client?: KmsClientLike;
}

const service = "AWS KMS";
const optionsOf = optionNames<AwsKmsKeyOptions>("awsKmsKey", { keyId: true, client: true });

/**
 * The index's identity is the encryption context `sealdex:index`, which AWS logs. Throws
 * `invalid_request`.
 */
export function awsKmsKey(options: AwsKmsKeyOptions): KeyProvider {
  options = takeOptions(options, optionsOf);
  const { keyId, client } = options;
  if (typeof keyId !== "string" || keyId === "") {
    throw new SealdexError("invalid_request", "keyId: expected the ARN of a key");
  }
  let made = client as Sdk.KMSClient | undefined;
  async function call<T>(send: (sdk: typeof Sdk, kms: Sdk.KMSClient) => Promise<T>): Promise<T> {
    const sdk = await loadSdk();
    made ??= new sdk.KMSClient({});
    try {
      return await send(sdk, made);
    } catch (cause) {
      throw failure(cause);
    }
  }
  return {
    name: `aws-kms:${keyId}`,
    wrap: (key, context) =>
      call(async (sdk, kms) => {
        const input = { KeyId: keyId, Plaintext: key, EncryptionContext: contextOf(context) };
        return bytesOf((await kms.send(new sdk.EncryptCommand(input))).CiphertextBlob);
      }),
    unwrap: (wrapped, context) =>
      call(async (sdk, kms) => {
        const input = { KeyId: keyId, CiphertextBlob: wrapped, EncryptionContext: contextOf(context) };
        return bytesOf((await kms.send(new sdk.DecryptCommand(input))).Plaintext);
      }),
  };
}

function contextOf({ indexId }: KeyContext) {
  return { "sealdex:index": indexId };
}

function bytesOf(bytes: Uint8Array | undefined): Uint8Array {
  if (bytes !== undefined) return bytes;
  throw new SealdexError("storage_unavailable", `${service}: the response has no key`);
}

function failure(cause: unknown): unknown {
  if (cause instanceof SealdexError) return cause;
  switch (isError(cause) ? cause.name : "") {
    case "InvalidCiphertextException":
    case "IncorrectKeyException":
      return refusal(service, "wrong_index_key", cause);
    case "AccessDeniedException":
      return refusal(service, "forbidden", cause);
    case "NotFoundException":
      return refusal(service, "not_found", cause);
    default:
      return new SealdexError("storage_unavailable", `${service}: the call failed`, { cause });
  }
}

const sdkPackage: PeerPackage = {
  name: "@aws-sdk/client-kms",
  range: "^3.700.0",
  feature: "key provider AWS KMS",
  exports: ["KMSClient", "EncryptCommand", "DecryptCommand"],
};

async function loadSdk(): Promise<typeof Sdk> {
  try {
    return checkPeer(await import("@aws-sdk/client-kms"), sdkPackage);
  } catch (cause) {
    throw peerFailure(cause, sdkPackage);
  }
}
