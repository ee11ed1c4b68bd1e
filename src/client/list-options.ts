/** Options of lists that take several requests, copied at the call, and the pages of all items. */

import { type Filter, takeFilter } from "../filter.js";
import { methodOptions } from "../method-options.js";
import { takeOptions } from "../option-names.js";
import type { ItemPage, ItemsOptions, ListItemsOptions, StoredItem } from "../vector-index.js";
import { texts } from "../wire.js";

export function withOwnFilter<T extends { readonly filter?: Filter | null | undefined }>(options: T): T {
  return { ...options, filter: options.filter && takeFilter(options.filter) };
}

export function takeItemsOptions(options: ItemsOptions): ItemsOptions {
  const { include, ...own } = takeOptions(options, methodOptions.items);
  return withOwnFilter({ ...own, include: include && texts(include, "include") });
}

export async function* itemsOf(
  { pageSize, after, ...others }: ItemsOptions,
  list: (page: ListItemsOptions) => Promise<ItemPage>,
): AsyncGenerator<StoredItem, void, undefined> {
  let page = await list({ ...others, limit: pageSize, after });
  yield* page.items;
  while (page.cursor !== undefined) {
    page = await list({ ...others, limit: pageSize, cursor: page.cursor });
    yield* page.items;
  }
}
