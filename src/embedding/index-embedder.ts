/**
 * Embeds the texts of an index and checks the model. The index stores the model's vector of one
 * fixed sentence: a model, revision or setting that gives another vector is refused before it
 * embeds anything.
 */

import { memoize } from "../async/memoize.js";
import { isFloat32Array } from "../checks/value-kinds.js";
import { SealdexError } from "../errors.js";
import { type EmbeddedVector, type Embedder, embedImages } from "./embedder.js";
import type { ImageSource } from "./read-image.js";

/** The model of an index, as stored in its record. */
export interface ModelIdentity {
  /** Absent if the caller passed an object or a function. */
  readonly name?: string;
  /** The vector of `sampleText`, 8 bits per component, in base64. */
  readonly sample: string;
}

export interface KnownModel {
  readonly identity: ModelIdentity;
  readonly dimension: number;
}

const sampleText = "The quick brown fox jumps over the lazy dog.";
/**
 * Precisions of one model differ by up to .003, processors by .01; revisions and models by more.
 */
const cosineMin = 0.97;

/**
 * Embeds the sample. Throws the embedder's errors, or `invalid_request` if the result is no vector.
 */
export async function identify(embedder: Embedder, name: string | undefined): Promise<KnownModel> {
  const vector = await sampleOf(embedder);
  const components = Float32Array.from(vector);
  const largest = components.reduce((max, x) => Math.max(max, Math.abs(x)), 0);
  const rounded = Int8Array.from(components, (x) => (largest === 0 ? 0 : Math.round((127 * x) / largest)));
  const sample = Buffer.from(rounded.buffer).toString("base64");
  return { identity: { ...(name !== undefined && { name }), sample }, dimension: vector.length };
}

/**
 * A method of embedded indexes, `(embedder) => Promise<void>`: throws like `IndexEmbedder` if the
 * embedder is not the index's model. A registered symbol, since the index may come from another
 * copy of this package.
 */
export const checkModel: unique symbol = Symbol.for("sealdex.checkModel");

export class IndexEmbedder implements Embedder {
  readonly #embedder: Embedder;
  readonly #identity: ModelIdentity | undefined;
  readonly #indexName: string;
  readonly #queries = new QueryCache();
  readonly embedImage?: (images: ImageSource[]) => Promise<readonly EmbeddedVector[]>;
  #checked: Promise<void> | undefined;

  /** `identity`: the model that the index was created with; undefined without one. */
  constructor(embedder: Embedder, identity: ModelIdentity | undefined, indexName: string) {
    this.#embedder = embedder;
    this.#identity = identity;
    this.#indexName = indexName;
    if (embedder.embedImage === undefined) return;
    this.embedImage = async (images) => {
      await this.check();
      return embedImages(embedder, images, "contents");
    };
  }

  async embedDocuments(texts: string[]): Promise<readonly EmbeddedVector[]> {
    await this.check();
    return this.#embedder.embedDocuments(texts);
  }

  async embedQuery(text: string): Promise<EmbeddedVector> {
    await this.check();
    return this.#queries.get(text, () => this.#embedder.embedQuery(text));
  }

  /**
   * Checks once, and again after a failure. Throws `dimension_mismatch` or `invalid_request` for
   * another model.
   */
  check(): Promise<void> {
    this.#checked ??= this.#compare().catch((error: unknown) => {
      this.#checked = undefined;
      throw error;
    });
    return this.#checked;
  }

  async #compare(): Promise<void> {
    if (this.#identity === undefined) return;
    const { name, sample } = this.#identity;
    const expected = new Int8Array(Buffer.from(sample, "base64"));
    const vector = await sampleOf(this.#embedder);
    const model = name ?? "a custom model";
    if (vector.length !== expected.length) {
      throw new SealdexError(
        "dimension_mismatch",
        `embedding: index "${this.#indexName}" was created with ${model}, whose vectors have ${expected.length} ` +
          `components; this model's have ${vector.length}`,
      );
    }
    const similarity = cosine(expected, vector);
    if (similarity >= cosineMin) return;
    throw new SealdexError(
      "invalid_request",
      `embedding: index "${this.#indexName}" was created with ${model}; this is another model or revision (cosine of ` +
        `the two vectors of a test sentence: ${similarity.toFixed(3)})`,
    );
  }
}

async function sampleOf(embedder: Embedder): Promise<EmbeddedVector> {
  const [vector]: readonly unknown[] = (await embedder.embedDocuments([sampleText])) ?? [];
  return takeVector(vector);
}

function takeVector(vector: unknown): EmbeddedVector {
  const isVector = Array.isArray(vector) || isFloat32Array(vector);
  if (isVector && vector.length > 0 && vector.every((x) => Number.isFinite(x))) return vector;
  throw new SealdexError("invalid_request", "embedding: expected vectors of finite numbers");
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [product, squaresA, squaresB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    product += a[i] * b[i];
    squaresA += a[i] * a[i];
    squaresB += b[i] * b[i];
  }
  // Two zero vectors are equal: both models know no word of the sentence.
  if (squaresA === 0 && squaresB === 0) return 1;
  return product / Math.sqrt(squaresA * squaresB || 1);
}

// Caches the vectors of recent queries.

const queriesMax = 256;
/** 8 bytes per component. Small, since a process may have many indexes open. */
const bytesMax = 2 * 1024 * 1024;
/** Longer queries are rare and not cached. */
const charactersMax = 2000;

export class QueryCache {
  readonly #kept = new Map<string, Promise<EmbeddedVector>>();
  #max = queriesMax;

  /** Returns the cached vector of this text, or calls `embed`. A failure is not cached. */
  get(text: string, embed: () => Promise<EmbeddedVector>): Promise<EmbeddedVector> {
    if (text.length > charactersMax) return this.#measured(embed);
    const found = memoize(this.#kept, text, () => this.#measured(embed));
    // Moves the entry to the end: a Map keeps the order of insertion.
    this.#kept.delete(text);
    this.#kept.set(text, found);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#max) break;
      this.#kept.delete(oldest);
    }
    return found;
  }

  /** All vectors of a cache come from one model, which may write each of them into the same memory. */
  async #measured(embed: () => Promise<EmbeddedVector>): Promise<EmbeddedVector> {
    const vector = takeVector(await embed()).slice();
    this.#max = Math.max(1, Math.min(queriesMax, Math.floor(bytesMax / (8 * vector.length))));
    return vector;
  }
}
