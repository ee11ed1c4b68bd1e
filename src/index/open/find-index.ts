/** Opens an index by its name and a key. */

import type { LoadIndexOptions } from "../../api/vector-index.js";
import { SealdexError } from "../../errors.js";
import { type KeySource, parseKeySource } from "../../keys/key-provider.js";
import { type Anchor, decodeAnchor } from "../../state/commit/anchor.js";
import { listFolder } from "../../state/commit/index-folder.js";
import type { Manifest } from "../../state/commit/manifest.js";
import { checkIndexName } from "../../state/commit/object-names.js";
import { openIndex, plainIndex } from "./assemble.js";
import type { ClientResources, ClientStores } from "./client-resources.js";
import { openRecord } from "./index-record.js";
import type { OpenIndex } from "./open-index.js";
import { findRecord } from "./record-access.js";

/** The index to open, and its key. */
export interface OpenRequest {
  readonly indexName: string;
  readonly source: KeySource;
  readonly anchor?: Anchor | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Throws `invalid_request`. The key is read at once: its bytes are the caller's. */
export function openRequest({ indexName, indexKey, anchor, signal }: LoadIndexOptions): OpenRequest {
  checkIndexName(indexName);
  const source = parseKeySource(indexKey);
  return { indexName, source, anchor: anchor === undefined ? undefined : decodeAnchor(anchor), signal };
}

/** Throws `not_found`, or the errors of `openRecord`. `isCollection`: undefined for either kind. */
export async function findIndex(
  { indexName, source, anchor, signal }: OpenRequest,
  stores: ClientStores,
  resources: ClientResources,
  isCollection: boolean | undefined,
): Promise<OpenIndex> {
  const record = await findRecord(stores.configStore, indexName);
  if (record === undefined) throw new SealdexError("not_found", `index "${indexName}": no such index`);
  const opened = await openRecord(source, record, signal);
  opened.keys.checkUnexpired(indexName, resources.clock.wall());
  return openIndex(indexName, opened, stores, resources, { ...plainIndex, anchor, isCollection });
}

/** The same, and its newest manifest. Completes a change of keys that another process left. */
export async function findNewest(
  request: OpenRequest,
  stores: ClientStores,
  resources: ClientResources,
  isCollection: boolean | undefined,
): Promise<{ readonly index: OpenIndex; readonly manifest: Manifest }> {
  const listing = listFolder(stores.configStore, request.indexName, resources.clock);
  const [index, listed] = await Promise.all([findIndex(request, stores, resources, isCollection), listing]);
  const manifest = await index.log.newestListed(listed);
  if (index.access.isUnsettled(manifest)) resources.runner.start(() => index.access.completeChange());
  return { index, manifest };
}
