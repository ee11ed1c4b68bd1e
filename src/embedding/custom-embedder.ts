/**
 * Embedders of the caller: LangChain `Embeddings` objects, transformers.js pipelines, functions.
 */

import { SealdexError } from "../errors.js";
import type {
  Embedder,
  EmbeddedVector,
  EmbeddingFunction,
  EmbeddingInput,
  EmbeddingPipeline,
  Pooling,
} from "./embedder.js";
import { recipeOf } from "./recipe.js";

/**
 * Recognized by members, not by class, since it may come from another copy of a package. Throws
 * `invalid_request`.
 */
export function customEmbedder(input: Exclude<EmbeddingInput, string>, where: string): Embedder {
  if (isEmbedder(input)) return input;
  if (typeof input !== "function") {
    throw new SealdexError(
      "invalid_request",
      `${where}: expected the name of a model, an Embeddings object, a pipeline or a function, got ` +
        (input === null ? "null" : typeof input === "object" ? "another object" : typeof input),
    );
  }
  if (isPipeline(input)) return pipelineEmbedder(input);
  return functionEmbedder(input, input, where);
}

function isEmbedder(input: unknown): input is Embedder {
  const { embedDocuments, embedQuery } = (input ?? {}) as Partial<Embedder>;
  return typeof embedDocuments === "function" && typeof embedQuery === "function";
}

function isPipeline(input: object): input is EmbeddingPipeline & RunPipeline {
  return "model" in input && "tokenizer" in input;
}

type RunPipeline = (
  texts: string[],
  options: { readonly pooling: Pooling; readonly normalize: boolean },
) => Promise<{ readonly data: Float32Array; readonly dims: readonly number[] }>;

/** Uses the pooling and prefixes of the model's recipe, if the pipeline knows the model's name. */
function pipelineEmbedder(pipeline: EmbeddingPipeline & RunPipeline): Embedder {
  const { config } = pipeline.model as { config?: { _name_or_path?: unknown } };
  const name = config?.["_name_or_path"];
  const { pooling, queryPrefix, documentPrefix } = recipeOf(typeof name === "string" ? name : "");
  const embedWith = (prefix: string) => async (texts: string[]) => {
    const prefixed = texts.map((text) => prefix + text);
    const { data, dims } = await pipeline(prefixed, { pooling, normalize: true });
    return texts.map((_, i) => Float32Array.from(data.subarray(i * dims[1], (i + 1) * dims[1])));
  };
  return functionEmbedder(embedWith(documentPrefix), embedWith(queryPrefix), "embedding");
}

function functionEmbedder(documents: EmbeddingFunction, queries: EmbeddingFunction, where: string): Embedder {
  const call = async (embed: EmbeddingFunction, texts: string[]): Promise<readonly EmbeddedVector[]> => {
    if (texts.length === 0) return [];
    const vectors: unknown = await embed(texts);
    if (Array.isArray(vectors) && vectors.length === texts.length) return vectors as EmbeddedVector[];
    const received = Array.isArray(vectors) ? `${vectors.length} of them` : typeof vectors;
    throw new SealdexError(
      "invalid_request",
      `${where}: expected one vector for each of ${texts.length} texts, got ${received}`,
    );
  };
  return {
    embedDocuments: (texts) => call(documents, texts),
    async embedQuery(text) {
      const [vector] = await call(queries, [text]);
      return vector;
    },
  };
}
