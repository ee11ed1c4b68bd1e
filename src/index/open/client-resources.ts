/** The stores of a client, and the parts that all its indexes share. */

import type { BlockCache } from "../../state/cache/block-cache.js";
import { openFolder } from "../../state/commit/index-folder.js";
import type { SearchShards } from "../../query/shard-search.js";
import type { BlobStore } from "../../storage/blob-store.js";
import type { Retention } from "./dropped-objects.js";
import type { Listings } from "./listings.js";
import type { Job } from "./maintenance.js";
import type { OpenIndex } from "./open-index.js";
import type { QuerySamples } from "./query-samples.js";

/** The stores of a client. */
export interface ClientStores {
  readonly indexStore: BlobStore;
  readonly configStore: BlobStore;
  readonly anchorStore?: BlobStore | undefined;
}

/** Where the objects of an index of this name are. */
export type IndexFolders = Pick<ClientStores, "indexStore" | "configStore">;

export function foldersOf({ indexStore, configStore }: IndexFolders, indexName: string): IndexFolders {
  return {
    indexStore: openFolder(indexStore, indexName),
    configStore: openFolder(configStore, indexName),
  };
}

/** The parts that all indexes of a client share. */
export interface ClientResources extends Retention {
  readonly cache: BlockCache;
  readonly listings: Listings;
  readonly maxStalenessMs: number;
  /** See `EmbeddedClientOptions`. */
  readonly oblivious: boolean;
  readonly samples: QuerySamples;
  /** Searches shards of collections in other processes. Default: in this one. */
  readonly searchShards?: SearchShards | undefined;
  /** The jobs that commits make due. */
  jobsOf(index: OpenIndex): readonly Job[];
  /** Called when a location is full. */
  makeRoom(index: OpenIndex): Promise<void>;
}
