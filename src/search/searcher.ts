/** What all searches of one open index share: models in kernel memory, rows that match filters, and where blocks lie. */

import type { Trained } from "../engine/choose-codec.js";
import { CoarseQuantizer } from "../engine/coarse-quantizer.js";
import type { IndexConfig } from "../engine/config.js";
import { allocatedBytes } from "../engine/kernels/memory.js";
import { isCodedModel, type Model } from "../engine/model.js";
import { ModelQuantizer } from "../engine/model-quantizer.js";
import type { BlockCache, CachedBlock } from "../segment/block-cache.js";
import { run } from "../threads/run.js";
import type { MemoryUse } from "../vector-index.js";
import { Residency } from "./residency.js";
import { RowFilters } from "./row-filter.js";

export class Searcher {
  readonly config: IndexConfig;
  readonly residency: Residency;
  readonly rowFilters = new RowFilters();
  readonly #cache: BlockCache;

  constructor(config: IndexConfig, cache: BlockCache) {
    this.config = config;
    this.residency = new Residency(cache);
    this.#cache = cache;
  }

  /** A model in kernel memory, pinned there while `use` runs. */
  async withTrained<T>(model: Model, use: (trained: Trained) => Promise<T> | T): Promise<T> {
    const [trained] = await this.#cache.pin([model], async () => [await loadModel(this.config, model)]);
    try {
      return await use(trained);
    } finally {
      this.#cache.unpin([model]);
    }
  }

  memory(): MemoryUse {
    return {
      rssBytes: process.memoryUsage.rss(),
      kernelBytes: allocatedBytes(),
      cacheBytes: this.#cache.bytes,
      cacheBytesMax: this.#cache.bytesMax,
    };
  }
}

async function loadModel(config: IndexConfig, model: Model): Promise<Trained & CachedBlock> {
  const quantizer = await run(CoarseQuantizer.open(model));
  const rowQuantizer = isCodedModel(model) ? new ModelQuantizer(config, model) : undefined;
  return {
    model,
    quantizer,
    ...(rowQuantizer && { rowQuantizer }),
    bytes: quantizer.bytes + (rowQuantizer?.bytes ?? 0),
    free() {
      quantizer.free();
      rowQuantizer?.free();
    },
  };
}
