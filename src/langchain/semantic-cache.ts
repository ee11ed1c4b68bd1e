/** `EncryptedSemanticCache`: answers of language models, found again for prompts that mean the same. */

import { createHash } from "node:crypto";
import { BaseCache, deserializeStoredGeneration, serializeGeneration } from "@langchain/core/caches";
import type { StoredGeneration } from "@langchain/core/messages";
import type { Generation } from "@langchain/core/outputs";
import { invalid } from "../check-input.js";
import { optionNames, takeOptions } from "../option-names.js";
import type { EncryptedVectorStore } from "./encrypted-vector-store.js";

export interface SemanticCacheOptions {
  /** How near a prompt must be to count as the same: a score of the store, in [0, 1]. Default 0.95. */
  readonly scoreThreshold?: number;
  /** Seconds after which an answer is not given any more. Default: never. */
  readonly ttlSeconds?: number;
}

const cacheOptions = optionNames<SemanticCacheOptions>("EncryptedSemanticCache", {
  scoreThreshold: true,
  ttlSeconds: true,
});

/**
 * A cache for `new ChatModel({ cache })`, over a store of its own.
 *
 * `lookup` gives the answers of the nearest prompt that was cached for the same model and settings and has not expired, if
 * its score reaches the threshold; else null. `update` replaces what was cached for exactly this prompt. Prompts and
 * answers are encrypted like any document; the model's settings are kept as a digest. An answer that is no JSON, or longer
 * than 1 MiB of it, is refused with `invalid_request`.
 */
export class EncryptedSemanticCache extends BaseCache {
  readonly #store: EncryptedVectorStore;
  readonly #scoreThreshold: number;
  readonly #ttlSeconds: number | undefined;

  constructor(store: EncryptedVectorStore, options: SemanticCacheOptions = {}) {
    super();
    options = takeOptions(options, cacheOptions);
    const { scoreThreshold = 0.95, ttlSeconds } = options;
    if (!(scoreThreshold >= 0 && scoreThreshold <= 1)) {
      throw invalid("scoreThreshold: expected a number from 0 to 1");
    }
    if (ttlSeconds !== undefined && !(ttlSeconds > 0)) {
      throw invalid("ttlSeconds: expected a number above 0");
    }
    this.#store = store;
    this.#scoreThreshold = scoreThreshold;
    this.#ttlSeconds = ttlSeconds;
  }

  override async lookup(prompt: string, llmKey: string): Promise<Generation[] | null> {
    const filter = {
      model: digest(llmKey),
      $or: [{ expiresAt: null }, { expiresAt: { $gt: Date.now() } }],
    };
    const vector = await this.#store.embeddings.embedQuery(prompt);
    const [nearest] = await this.#store.similaritySearchVectorWithScore(vector, 1, filter);
    if (nearest === undefined || nearest[1] < this.#scoreThreshold) return null;
    const stored = JSON.parse(nearest[0].pageContent) as StoredGeneration[];
    return stored.map((generation) => deserializeStoredGeneration(generation) as Generation);
  }

  override async update(prompt: string, llmKey: string, value: Generation[]): Promise<void> {
    const model = digest(llmKey);
    const expiresAt = this.#ttlSeconds === undefined ? null : Date.now() + 1000 * this.#ttlSeconds;
    // The answers are the text, which may be longer than metadata may; the prompt is stored as its vector.
    const pageContent = JSON.stringify(value.map(serializeGeneration));
    const vector = await this.#store.embeddings.embedQuery(prompt);
    const id = digest(JSON.stringify([model, prompt]));
    await this.#store.addVectors([vector], [{ pageContent, metadata: { model, expiresAt } }], { ids: [id] });
  }

  /** Deletes expired answers. They are not given in any case; this makes room. */
  async deleteExpired(): Promise<void> {
    await this.#store.delete({ filter: { expiresAt: { $lte: Date.now() } } });
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
