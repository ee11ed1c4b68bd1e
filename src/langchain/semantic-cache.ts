/**
 * `EncryptedSemanticCache`: caches responses of language models for prompts with the same meaning.
 */

import { createHash } from "node:crypto";
import { BaseCache, deserializeStoredGeneration, serializeGeneration } from "@langchain/core/caches";
import type { StoredGeneration } from "@langchain/core/messages";
import type { Generation } from "@langchain/core/outputs";
import { invalid } from "../checks/input.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import type { EncryptedVectorStore } from "./encrypted-vector-store.js";

/** Options of an `EncryptedSemanticCache`. */
export interface SemanticCacheOptions {
  /** Minimum score of a prompt to count as the same, in [0, 1]. Default 0.95. */
  readonly scoreThreshold?: number;
  /** Lifetime of a response in seconds. Default: unlimited. */
  readonly ttlSeconds?: number;
}

const cacheOptions = optionNames<SemanticCacheOptions>("EncryptedSemanticCache", {
  scoreThreshold: true,
  ttlSeconds: true,
});

/**
 * A cache for `new ChatModel({ cache })`, over a store of its own.
 *
 * `lookup` returns the responses of the most similar prompt that was cached for the same model and
 * settings and has not expired, if its score reaches the threshold; otherwise null. `update`
 * replaces the entry of exactly this prompt. Prompts and responses are encrypted like any document;
 * the model's settings are stored as a digest. A response that is no JSON, or longer than 1 MiB, is
 * refused with `invalid_request`.
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
    // Responses are stored as text, which may be longer than metadata; the prompt is stored as its
    // vector.
    const pageContent = JSON.stringify(value.map(serializeGeneration));
    const vector = await this.#store.embeddings.embedQuery(prompt);
    const id = digest(JSON.stringify([model, prompt]));
    await this.#store.addVectors([vector], [{ pageContent, metadata: { model, expiresAt } }], { ids: [id] });
  }

  /** Deletes expired responses to free space; `lookup` never returns them. */
  async deleteExpired(): Promise<void> {
    await this.#store.delete({ filter: { expiresAt: { $lte: Date.now() } } });
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
