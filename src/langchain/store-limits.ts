/** What a store limits all its calls to: documents that a filter matches, and those of one namespace. */

import { invalid } from "../check-input.js";
import { SealdexError } from "../errors.js";
import { compileFilter, type Filter, matchesEverything, type Predicate, takeFilter } from "../filter.js";
import type { JsonText } from "../json-text.js";
import type { Metadata, NamespaceOption } from "../vector-index.js";
import { own as ownMembers } from "../value-kinds.js";

/** Of a call. */
export interface LimitOptions extends NamespaceOption {
  readonly filter?: Filter | undefined;
}

export class StoreLimits {
  readonly #filter: Filter | undefined;
  readonly #matches: Predicate | undefined;
  readonly #namespace: string | undefined;

  constructor({ filter, namespace }: LimitOptions) {
    const compiled = filter && compileFilter(filter);
    // One that everything matches is none, so that `deleteAll` may delete all.
    const limits = compiled !== undefined && !matchesEverything(compiled.root);
    this.#matches = limits ? compiled.matches : undefined;
    this.#filter = limits ? takeFilter(filter as Filter) : undefined;
    this.#namespace = namespace;
  }

  /** The store's filter and the call's, both required, and the namespace. Throws as `namespaceOf`. */
  of(call: LimitOptions): { readonly filter: Filter | undefined; readonly namespace: string | undefined } {
    const { filter, namespace } = ownMembers(call);
    return { filter: this.#both(filter), namespace: this.namespaceOf({ namespace }) };
  }

  /** The store's namespace, or the call's if the store has none. Throws `invalid_request` for a call about another one. */
  namespaceOf({ namespace }: NamespaceOption = {}): string | undefined {
    if (this.#namespace === undefined) return namespace;
    if (namespace === undefined || namespace === this.#namespace) return this.#namespace;
    throw invalid("namespace: expected none, or that of the store, got another one");
  }

  /** Whether the store's filter matches. */
  matches(metadata: Metadata): boolean {
    return this.#matches?.(metadata) ?? true;
  }

  /** What the documents that are added, and those that they replace, must match. */
  get within(): Filter | undefined {
    return this.#filter;
  }

  /** Throws `forbidden` unless the store's filter matches. `where`: the document. */
  checkAdded({ text }: JsonText, where: string): void {
    if (this.#matches === undefined || this.#matches(JSON.parse(text) as Metadata)) return;
    throw new SealdexError("forbidden", `${where}: expected metadata that match the filter of the store`);
  }

  #both(filter: Filter | undefined): Filter | undefined {
    const own = this.#filter;
    if (filter === undefined || filter === null) return own;
    const wanted = takeFilter(filter);
    return own === undefined ? wanted : { $and: [own, wanted] };
  }
}
