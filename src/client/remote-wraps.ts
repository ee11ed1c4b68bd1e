/** The wraps of an index on a service. */

import { methodOptions } from "../api/method-options.js";
import type {
  CallOptions,
  Erasure,
  Namespaces,
  WrapDescription,
  WrapOptions,
  Wraps,
} from "../api/vector-index.js";
import { takeOptions } from "../checks/option-names.js";
import { SealdexError } from "../errors.js";
import type { RequestOptions } from "./connection.js";
import { decodeErasure, decodeNames, decodeWraps, encodeWrap } from "./wire/wire.js";

/** Sends a request whose `body` lacks the address of the index. */
type Call = (path: string, body: object, options: RequestOptions) => Promise<unknown>;

export class RemoteWraps implements Wraps {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  async add(options: WrapOptions): Promise<void> {
    options = takeOptions(options, methodOptions.addWrap);
    const { key, signal } = options;
    // The service cannot call the caller's key provider.
    if (typeof key === "object" && key !== null && "unwrap" in key) {
      throw embeddedOnly("wraps.add with a key provider");
    }
    await this.#call("/v1/indexes/wraps/add", encodeWrap(options), { signal });
  }

  async list(options: CallOptions = {}): Promise<WrapDescription[]> {
    options = takeOptions(options, methodOptions.listWraps);
    const { signal } = options;
    return decodeWraps(await this.#call("/v1/indexes/wraps/list", {}, { signal, isIdempotent: true }));
  }

  async revoke(name: string, options: CallOptions = {}): Promise<void> {
    options = takeOptions(options, methodOptions.revokeWrap);
    const { signal } = options;
    await this.#call("/v1/indexes/wraps/revoke", { name }, { signal });
  }
}

/** The error for features of embedded indexes only. */
export function embeddedOnly(what: string): SealdexError {
  return new SealdexError("not_supported", `${what}: not available over HTTP`);
}

// The namespaces of an index on a service.

/** Sends a request whose `body` lacks the address of the index. */
type Read = (path: string, body: object, options: CallOptions) => Promise<unknown>;

export class RemoteNamespaces implements Namespaces {
  readonly #read: Read;

  constructor(read: Read) {
    this.#read = read;
  }

  async list(options: CallOptions = {}): Promise<string[]> {
    options = takeOptions(options, methodOptions.listNamespaces);
    return decodeNames(await this.#read("/v1/indexes/namespaces", {}, options), "namespaces");
  }

  async readReceipt(receipt: string, options: CallOptions = {}): Promise<Erasure> {
    options = takeOptions(options, methodOptions.readReceipt);
    return decodeErasure(await this.#read("/v1/indexes/read_receipt", { receipt }, options));
  }
}
