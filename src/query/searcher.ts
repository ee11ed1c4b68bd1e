/** The parts that all searches of one open index share: models in kernel memory, and where blocks lie. */

import type { Trained } from "../engine/scan/choose-codec.js";
import { CoarseQuantizer } from "../engine/lists/coarse-quantizer.js";
import type { IndexConfig } from "../engine/config.js";
import { isCodedModel, type Model } from "../engine/model.js";
import { ModelQuantizer } from "../engine/codes/model-quantizer.js";
import { type CachedValue, namedKey } from "../state/cache/cache-group.js";
import type { IndexCache } from "../state/cache/index-cache.js";
import { run } from "../engine/threads/run.js";
import type { MemoryUse } from "../api/vector-index.js";
import { LearnedRecall } from "./learned-recall.js";
import { Residency } from "./residency.js";
import { SpilledSearch } from "./secondary-lists.js";

interface LoadedModel extends Trained, CachedValue {}

const modelKeys = [namedKey<LoadedModel>("model")];

export class Searcher {
  readonly config: IndexConfig;
  readonly residency: Residency;
  readonly spilled: SpilledSearch;
  readonly learned = new LearnedRecall();
  readonly #cache: IndexCache;
  #vector: Float32Array | undefined;

  constructor(config: IndexConfig, cache: IndexCache) {
    this.config = config;
    this.residency = new Residency(cache);
    this.spilled = new SpilledSearch(this);
    this.#cache = cache;
  }

  /** A model in kernel memory, pinned there, at once if it is there: call `unpinModel` when done. */
  pinModel(model: Model): Promise<Trained> | Trained {
    const group = this.#cache.groupOf(model);
    const opened = group.pinOpened(modelKeys);
    const load = async () => [await loadModel(this.config, model)];
    return opened === undefined ? group.pin(modelKeys, load).then(([trained]) => trained) : opened[0];
  }

  unpinModel(model: Model): void {
    this.#cache.groupOf(model).unpin(modelKeys);
  }

  /** The result of `use`, during which a model is pinned in kernel memory. */
  async withTrained<T>(model: Model, use: (trained: Trained) => Promise<T> | T): Promise<T> {
    const trained = await this.pinModel(model);
    try {
      return await use(trained);
    } finally {
      this.unpinModel(model);
    }
  }

  /** Evicts a model that nothing will use again. */
  dropModel(model: Model): void {
    this.#cache.groupOf(model).close();
  }

  /** An array for the vector of a query, which gives it back when it is done: to make one takes a tenth of a short query. */
  takeVector(dimension: number): Float32Array {
    const vector = this.#vector;
    this.#vector = undefined;
    return vector?.length === dimension ? vector : new Float32Array(dimension);
  }

  giveBack(vector: Float32Array): void {
    this.#vector = vector;
  }

  /** See `BlockCache.hasRoom`. */
  hasRoom(bytes: number): boolean {
    return this.#cache.blocks.hasRoom(bytes);
  }

  memory(): MemoryUse {
    return this.#cache.blocks.memory();
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

/** Bytes of a model in the heap. */
function modelBytes({ centroids, quantizer }: Model): number {
  const { references, codebooks } = quantizer ?? {};
  const own = references === undefined || references === centroids ? 0 : references.byteLength;
  return centroids.byteLength + own + (codebooks?.codewords.byteLength ?? 0);
}
