/** The namespaces of an embedded index, as its callers see them. */

import type { Calls } from "../calls.js";
import { methodOptions } from "../method-options.js";
import { takeOptions } from "../option-names.js";
import type { CallOptions, Erasure, ErasureReceipt, Namespaces } from "../vector-index.js";
import { erase, namespaceNames, readReceipt } from "./erase.js";
import type { OpenIndex } from "./open-index.js";
import { checkIdText } from "../check-input.js";

export class IndexNamespaces implements Namespaces {
  readonly #index: OpenIndex;
  readonly #calls: Calls;

  constructor(index: OpenIndex, calls: Calls) {
    this.#index = index;
    this.#calls = calls;
  }

  async list(options: CallOptions = {}): Promise<string[]> {
    options = takeOptions(options, methodOptions.listNamespaces);
    return this.#calls.look(options.signal, () => namespaceNames(this.#index));
  }

  async readReceipt(receipt: string, options: CallOptions = {}): Promise<Erasure> {
    options = takeOptions(options, methodOptions.readReceipt);
    return this.#calls.look(options.signal, () => readReceipt(this.#index, receipt));
  }

  async erase(namespace: string, options: CallOptions = {}): Promise<ErasureReceipt> {
    checkIdText(namespace, "namespace");
    options = takeOptions(options, methodOptions.erase);
    const { signal } = options;
    this.#index.keys.check("read-write", this.#index.indexName);
    return this.#calls.change(signal, () => erase(this.#index, namespace, signal));
  }
}
