/** Groups items by namespace, since an upsert has one namespace. */

import type { NamespaceOption } from "../vector-index.js";

export interface NamespaceBatch<T> {
  readonly namespace: string | undefined;
  readonly items: readonly T[];
  /** Position of each item among all items. */
  readonly positions: readonly number[];
}

/** The items of each namespace, without the namespace's name. */
export function namespaceBatches<T extends object & NamespaceOption>(
  items: readonly T[],
): NamespaceBatch<Omit<T, "namespace">>[] {
  const byNamespace = new Map<string | undefined, { items: Omit<T, "namespace">[]; positions: number[] }>();
  for (const [position, item] of items.entries()) {
    // A copy of a non-object has no id, so the upsert refuses it.
    const { namespace, ...own } = { ...item };
    const batch = byNamespace.get(namespace) ?? { items: [], positions: [] };
    byNamespace.set(namespace, batch);
    batch.items.push(own);
    batch.positions.push(position);
  }
  return Array.from(byNamespace, ([namespace, batch]) => ({ namespace, ...batch }));
}
