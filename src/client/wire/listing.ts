/** The JSON of counting and listing items, without the address of the index. */

import { checkOrder } from "../../api/check-listing.js";
import type {
  CountOptions,
  ItemField,
  ItemPage,
  ListIdsOptions,
  ListItemsOptions,
} from "../../api/vector-index.js";
import type { Maybe } from "./address.js";
import { decodeFilter, encodeFilter, type FilterBody } from "./filters.js";
import { decodeNamespace, encodeNamespace, type NamespaceBody } from "./namespaces.js";
import { decodeStoredItems, foreign } from "./results.js";
import { decodeOrder, type OrderBody } from "./order.js";
import { decodeInteger, texts } from "./values.js";

export function encodeCount({ filter, ...options }: CountOptions): FilterBody & NamespaceBody {
  return { filters: encodeFilter(filter), ...encodeNamespace(options) };
}

export function decodeCountOptions(body: FilterBody & NamespaceBody): CountOptions {
  return { filter: decodeFilter(body, "count"), ...decodeNamespace(body) };
}

export interface ListIdsBody extends FilterBody, NamespaceBody {
  readonly limit?: Maybe<number>;
  readonly after?: Maybe<string>;
}

export function encodeListIds({ limit, after, filter, ...options }: ListIdsOptions): ListIdsBody {
  const page = { limit: decodeInteger(limit, "limit"), after };
  return { ...page, filters: encodeFilter(filter), ...encodeNamespace(options) };
}

export function decodeListIds(body: ListIdsBody): ListIdsOptions {
  const { limit, after } = body;
  return {
    ...present("limit", limit),
    ...present("after", after),
    ...present("filter", decodeFilter(body, "listIds")),
    ...present("namespace", body.namespace),
  };
}

export interface ListItemsBody extends ListIdsBody {
  readonly include?: Maybe<readonly ItemField[]>;
  readonly cursor?: Maybe<string>;
  readonly order_by?: Maybe<OrderBody>;
}

export function encodeListItems(options: ListItemsOptions): ListItemsBody {
  const { include, cursor, orderBy } = options;
  return {
    ...encodeListIds(options),
    include: include && texts(include, "include"),
    cursor,
    order_by: orderBy && Object.fromEntries(checkOrder(orderBy)),
  };
}

export function decodeListItems(body: ListItemsBody): ListItemsOptions {
  const { include, limit, after, cursor } = body;
  return {
    ...present("limit", limit),
    ...present("after", after),
    ...present("cursor", cursor),
    ...present("orderBy", decodeOrder(body.order_by)),
    ...present("include", include),
    ...present("filter", decodeFilter(body, "listItems")),
    ...present("namespace", body.namespace),
  };
}

export function decodeItemPage(json: unknown): ItemPage {
  const items = decodeStoredItems(json);
  const { cursor } = json as { cursor?: unknown };
  if (cursor === undefined) return { items };
  if (typeof cursor !== "string") throw foreign();
  return { items, cursor };
}

/** Null counts as absent. */
function present<N extends string, T>(name: N, value: Maybe<T>): { readonly [K in N]?: T } {
  return value === undefined || value === null ? {} : ({ [name]: value } as { readonly [K in N]: T });
}
