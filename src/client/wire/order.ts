/** The JSON of orders, and of queries by metadata only. */

import { invalid } from "../../checks/input.js";
import type { ItemField, ListItemsOptions, OrderBy } from "../../api/vector-index.js";
import type { AddressBody, Maybe } from "./address.js";
import { decodeFilter, type FilterBody } from "./filters.js";
import { decodeNamespace, type NamespaceBody } from "./namespaces.js";
import { checkRange } from "./values.js";

/** A field's dotted path, or fields with directions; other clients send 1 and -1. */
export type OrderBody = string | Readonly<Record<string, "asc" | "desc" | 1 | -1>>;

export interface OrderedQueryBody extends AddressBody, FilterBody, NamespaceBody {
  readonly order_by?: Maybe<OrderBody>;
  readonly cursor?: Maybe<string>;
  readonly top_k?: Maybe<number>;
  readonly include?: Maybe<readonly string[]>;
}

const pageItemsMax = 10_000;
/** Fields of a query that is not by metadata only. */
const subjects = ["query_vectors", "query_contents", "query_text", "text", "rerank", "fusion"] as const;

type Subjects = { readonly [N in (typeof subjects)[number]]?: unknown };

/** The listing that a query with `order_by` is, or undefined. */
export function decodeOrderedQuery(body: OrderedQueryBody & Subjects): ListItemsOptions | undefined {
  const orderBy = decodeOrder(body.order_by);
  if (orderBy === undefined) {
    if ((body.cursor ?? undefined) !== undefined) throw invalid("cursor: requires order_by");
    return undefined;
  }
  const more = subjects.filter((name) => {
    const value = body[name] ?? undefined;
    return value !== undefined && !(Array.isArray(value) && value.length === 0);
  });
  if (more.length > 0) throw invalid(`order_by: cannot be combined with ${more.join(", ")}`);
  return {
    orderBy,
    limit: checkRange(body.top_k ?? 100, [1, pageItemsMax], "top_k"),
    filter: decodeFilter(body, "query"),
    ...decodeNamespace(body),
    // The library refuses unknown fields.
    include: (body.include ?? ["metadata"]) as readonly ItemField[],
    ...((body.cursor ?? undefined) !== undefined && { cursor: body.cursor as string }),
  };
}

export interface MetadataQueryBody extends FilterBody, NamespaceBody {
  readonly top_k?: Maybe<number>;
  readonly order_by?: Maybe<OrderBody>;
  readonly ascending?: Maybe<boolean>;
}

export function decodeMetadataQuery(body: MetadataQueryBody) {
  const { top_k, order_by, ascending } = body;
  return {
    ...decodeNamespace(body),
    filter: decodeFilter(body, "query"),
    limit: top_k ?? undefined,
    orderBy: decodeOrder(order_by, ascending === false ? "desc" : "asc"),
  };
}

/** `direction` applies to a single field. */
export function decodeOrder(order: Maybe<OrderBody>, direction: "asc" | "desc" = "asc"): OrderBy | undefined {
  if (order === undefined || order === null) return undefined;
  if (typeof order === "string") return { [order]: direction };
  const nameOf = (value: string | number) => (value === 1 || value === "asc" ? "asc" : "desc");
  return Object.fromEntries(Object.entries(order).map(([field, value]) => [field, nameOf(value)]));
}
