/** Writes the items of an index as lines of JSON. */

import { invalid } from "../../checks/input.js";
import { type Filter, takeFilter } from "../filter/compile.js";
import { generatorOf } from "../../async/calls.js";
import { optionNames, takeOptions } from "../../checks/option-names.js";
import type {
  CallOptions,
  ItemField,
  ListItemsOptions,
  NamespaceOption,
  VectorIndex,
} from "../vector-index.js";
import { encodeLine, type VectorForm } from "./item-line.js";

/** Options of `exportItems`. */
export interface ExportOptions extends CallOptions, NamespaceOption {
  readonly from: VectorIndex;
  /** Only items whose metadata match. */
  readonly filter?: Filter | undefined;
  /**
   * Only items with greater ids: resume an interrupted export after the last id, or after the one before
   * it if namespaces share ids.
   */
  readonly after?: string | undefined;
  /**
   * Format of vectors: `base64` of little-endian float32 (the default), `numbers`, or `none`. The
   * first two are exact. A trained `ivf` or `ivfpq` stores no vectors and needs `none`.
   */
  readonly vectors?: VectorForm;
}

const options = optionNames<ExportOptions>("exportItems", {
  from: true,
  filter: true,
  after: true,
  vectors: true,
  namespace: true,
  signal: true,
});
const forms: readonly VectorForm[] = ["base64", "numbers", "none"];

/**
 * Yields the items in the order of their ids as lines of JSON, decrypted: whoever reads the lines
 * reads everything. Lines contain no keys. All lines show one state of the index (see
 * `VectorIndex.items`), read page by page on demand. Throws like `listItems`.
 */
export function exportItems(request: ExportOptions): AsyncGenerator<string, void, undefined> {
  return generatorOf(() => {
    const own = takeOptions(request, options);
    return linesOf({ ...own, filter: own.filter && takeFilter(own.filter) });
  });
}

async function* linesOf(request: ExportOptions): AsyncGenerator<string, void, undefined> {
  const { from, filter, after, namespace, vectors = "base64", signal } = request;
  if (!forms.includes(vectors)) throw invalid(`vectors: expected ${forms.join(", ")}`);
  const include: ItemField[] = ["contents", "metadata", ...(vectors === "none" ? [] : ["vector" as const])];
  const listing: ListItemsOptions = {
    filter,
    include,
    namespace,
    ...(signal && { signal }),
  };
  for (let page = await from.listItems({ ...listing, after }); ;) {
    for (const item of page.items) yield encodeLine(item, vectors);
    if (page.cursor === undefined) return;
    page = await from.listItems({ ...listing, cursor: page.cursor });
  }
}
