/** Items of several namespaces, to be written: an upsert is about one. */

import type { NamespaceOption } from "../vector-index.js";

export interface NamespaceBatch<T> {
  readonly namespace: string | undefined;
  readonly items: readonly T[];
  /** Of each item among all of them. */
  readonly positions: readonly number[];
}

/** The items of each namespace, without its name. */
export function namespaceBatches<T extends object & NamespaceOption>(
  items: readonly T[],
): NamespaceBatch<Omit<T, "namespace">>[] {
  const batches = new Map<string | undefined, { items: Omit<T, "namespace">[]; positions: number[] }>();
  for (const [position, item] of items.entries()) {
    // A copy of what is no object is one without an id, which the upsert refuses.
    const { namespace, ...own } = { ...item };
    const batch = batches.get(namespace) ?? { items: [], positions: [] };
    batches.set(namespace, batch);
    batch.items.push(own);
    batch.positions.push(position);
  }
  return Array.from(batches, ([namespace, batch]) => ({ namespace, ...batch }));
}
