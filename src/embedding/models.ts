/** The models of one client; each is loaded once. */

import { SealdexError } from "../errors.js";
import { builtInEmbedder, builtInNames, modelName } from "./built-in.js";
import type { Embedder, EmbeddingInput } from "./embedder.js";
import { customEmbedder } from "./custom-embedder.js";
import { useInferenceThread } from "./inference-thread.js";
import { type ModelOptions, modelOptions } from "./model-options.js";
import { customReranker, type RerankInput, type Reranker } from "./reranker.js";
import { takeOptions } from "../checks/option-names.js";
import { TransformersModel } from "./transformers-model.js";

export class Models {
  readonly #options: ModelOptions;
  readonly #byName = new Map<string, TransformersModel>();
  readonly #release: () => Promise<void>;

  /** Throws `invalid_request` for an unknown option. */
  constructor(options: ModelOptions = {}) {
    options = takeOptions(options, modelOptions);
    this.#options = options;
    this.#release = useInferenceThread();
  }

  /**
   * Returns the embedder without loading it. Throws `invalid_request`. `where` names the input in
   * messages.
   */
  embedder(input: EmbeddingInput, where: string): Embedder {
    if (typeof input !== "string") return customEmbedder(input, where);
    return builtInEmbedder(modelName(input)) ?? this.#named(input, where);
  }

  /** Returns the reranker without loading it. Throws `invalid_request`. */
  reranker(input: RerankInput): Reranker {
    if (typeof input !== "string") return customReranker(input);
    const model = this.#named(input, "rerank");
    return (query, documents, signal) => model.score(query, documents, signal);
  }

  /** Does not wait for running requests. */
  close(): Promise<void> {
    this.#byName.clear();
    return this.#release();
  }

  #named(name: string, where: string): TransformersModel {
    const { allowed } = this.#options;
    if (allowed === undefined ? !mayBeModel(name) : !allowed.includes(name)) {
      const others =
        allowed === undefined
          ? "the name of a model of the Hugging Face hub, or the path of a folder"
          : allowed;
      throw new SealdexError(
        "invalid_request",
        `${where}: expected ${[...builtInNames, others].flat().join(", ")}; got ${JSON.stringify(name.slice(0, 100))}` +
          (allowed === undefined ? "" : "; a service accepts others that its setting SEALDEX_MODELS lists"),
      );
    }
    const known = this.#byName.get(name) ?? new TransformersModel(name, this.#options);
    this.#byName.set(name, known);
    return known;
  }
}

/**
 * Whether it may be a name, an owner and a name, or a path. All models of `sealdex/` are built in.
 */
function mayBeModel(name: string): boolean {
  return /^[\w.@\\/:-][\w.@\\/: -]{0,499}$/.test(name) && !name.startsWith("sealdex/") && /\w/.test(name);
}
