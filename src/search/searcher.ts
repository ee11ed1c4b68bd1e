/** What all searches of one open index share: models in kernel memory, and where blocks lie. */

import type { Trained } from "../engine/choose-codec.js";
import { CoarseQuantizer } from "../engine/coarse-quantizer.js";
import type { IndexConfig } from "../engine/config.js";
import { isCodedModel, type Model } from "../engine/model.js";
import { ModelQuantizer } from "../engine/model-quantizer.js";
import { type CachedValue, namedKey } from "../segment/cache-group.js";
import type { IndexCache } from "../segment/index-cache.js";
import { run } from "../threads/run.js";
import type { MemoryUse } from "../vector-index.js";
import { memoryUse } from "./memory-use.js";
import { Residency } from "./residency.js";
import { SpilledSearch } from "./spilled-search.js";

interface LoadedModel extends Trained, CachedValue {}

const loadedModelKey = namedKey<LoadedModel>("model");

export class Searcher {
  readonly config: IndexConfig;
  readonly residency: Residency;
  readonly spilled: SpilledSearch;
  readonly #cache: IndexCache;
  #vector = new Float32Array(0);

  constructor(config: IndexConfig, cache: IndexCache) {
    this.config = config;
    this.residency = new Residency(cache);
    this.spilled = new SpilledSearch(this);
    this.#cache = cache;
  }

  /** A model in kernel memory, pinned there while `use` runs. */
  async withTrained<T>(model: Model, use: (trained: Trained) => Promise<T> | T): Promise<T> {
    const group = this.#cache.groupOf(model);
    const [trained] = await group.pin([loadedModelKey], async () => [await loadModel(this.config, model)]);
    try {
      return await use(trained);
    } finally {
      group.unpin([loadedModelKey]);
    }
  }

  /**
   * The result of `use`, which is called at once, if a model is in kernel memory; undefined if it is not. The model is pinned until `use` returns, since a
   * table that it caches may evict whatever is not: a promise that it returns has to pin the model itself.
   */
  withOpened<T>(model: Model, use: (trained: Trained) => T): T | undefined {
    const group = this.#cache.groupOf(model);
    const opened = group.pinOpened([loadedModelKey]);
    if (opened === undefined) return undefined;
    try {
      return use(opened[0]);
    } finally {
      group.unpin([loadedModelKey]);
    }
  }

  /** Evicts a model that nothing will use again. */
  dropModel(model: Model): void {
    this.#cache.groupOf(model).close();
  }

  /** Room for the vector of a query that waits for nothing; the next one overwrites it. An array per query is what most garbage would be. */
  vectorOf(dimension: number): Float32Array {
    if (this.#vector.length !== dimension) this.#vector = new Float32Array(dimension);
    return this.#vector;
  }

  /** See `BlockCache.hasRoom`. */
  hasRoom(bytes: number): boolean {
    return this.#cache.hasRoom(bytes);
  }

  memory(): MemoryUse {
    return memoryUse(this.#cache);
  }
}

async function loadModel(config: IndexConfig, model: Model): Promise<LoadedModel> {
  const quantizer = await run(CoarseQuantizer.open(model, config.metric));
  const rowQuantizer = isCodedModel(model) ? new ModelQuantizer(config, model) : undefined;
  return {
    model,
    quantizer,
    ...(rowQuantizer && { rowQuantizer }),
    bytes: quantizer.bytes + (rowQuantizer?.bytes ?? 0) + modelBytes(model),
    free() {
      quantizer.free();
      rowQuantizer?.free();
    },
  };
}

/** What a model takes in the heap, in bytes. */
function modelBytes({ centroids, quantizer }: Model): number {
  const { references, codebooks } = quantizer ?? {};
  const own = references === undefined || references === centroids ? 0 : references.byteLength;
  return centroids.byteLength + own + (codebooks?.codewords.byteLength ?? 0);
}
