/** The namespaces of an index on a service. */

import { methodOptions } from "../method-options.js";
import { takeOptions } from "../option-names.js";
import type { CallOptions, Erasure, Namespaces } from "../vector-index.js";
import { decodeErasure, decodeNames } from "../wire.js";

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
