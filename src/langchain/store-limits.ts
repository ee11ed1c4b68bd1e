/** Limits all calls of a store to a filter and a namespace. */

import { invalid } from "../checks/input.js";
import { SealdexError } from "../errors.js";
import {
  compileFilter,
  type Filter,
  matchesEverything,
  type Predicate,
  takeFilter,
} from "../api/filter/compile.js";
import type { JsonText } from "../checks/json-text.js";
import type { Metadata, NamespaceOption } from "../api/vector-index.js";
import { own as ownMembers } from "../checks/value-kinds.js";

export interface LimitOptions extends NamespaceOption {
  readonly filter?: Filter | undefined;
}

export class StoreLimits {
  readonly #filter: Filter | undefined;
  readonly #matches: Predicate | undefined;
  readonly #namespace: string | undefined;

  constructor({ filter, namespace }: LimitOptions) {
    const compiled = filter && compileFilter(filter);
    // A filter that matches everything is no limit, so `deleteAll` may delete everything.
    const limits = compiled !== undefined && !matchesEverything(compiled.root);
    this.#matches = limits ? compiled.matches : undefined;
    this.#filter = limits ? takeFilter(filter as Filter) : undefined;
    this.#namespace = namespace;
  }

  /**
   * The conjunction of the store's filter and the call's, and the namespace. Throws like
   * `namespaceOf`.
   */
  of(call: LimitOptions): { readonly filter: Filter | undefined; readonly namespace: string | undefined } {
    const { filter, namespace } = ownMembers(call);
    return { filter: this.#both(filter), namespace: this.namespaceOf({ namespace }) };
  }

  /**
   * The store's namespace, or the call's if the store has none. Throws `invalid_request` for
   * another one.
   */
  namespaceOf({ namespace }: NamespaceOption = {}): string | undefined {
    if (this.#namespace === undefined) return namespace;
    if (namespace === undefined || namespace === this.#namespace) return this.#namespace;
    throw invalid(`namespace: this store is limited to namespace ${JSON.stringify(this.#namespace)}`);
  }

  /** Whether the store's filter matches. */
  matches(metadata: Metadata): boolean {
    return this.#matches?.(metadata) ?? true;
  }

  /** A filter that added documents, and those that they replace, must match. */
  get within(): Filter | undefined {
    return this.#filter;
  }

  /** Throws `forbidden` unless the store's filter matches. `where` names the document. */
  checkAdded({ text }: JsonText, where: string): void {
    if (this.#matches === undefined || this.#matches(JSON.parse(text) as Metadata)) return;
    throw new SealdexError("forbidden", `${where}: the metadata do not match the filter of the store`);
  }

  #both(filter: Filter | undefined): Filter | undefined {
    const own = this.#filter;
    if (filter === undefined || filter === null) return own;
    const wanted = takeFilter(filter);
    return own === undefined ? wanted : { $and: [own, wanted] };
  }
}
