/** Turns any embedding input into a LangChain Embeddings object. */

import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { type Embedder, embedImages, type EmbeddingInput } from "../embedding/embedder.js";
import { modelName } from "../embedding/built-in.js";
import type { Models } from "../embedding/models.js";
import { toNumbers } from "./to-numbers.js";

/** Embeds documents and queries: see `EmbeddingInput`. */
export type EmbeddingsInput = EmbeddingsInterface | EmbeddingInput;

/** Returns a caller's Embeddings object unchanged. Throws `invalid_request`. */
export function chooseEmbeddings(input: EmbeddingsInput, models: Models): EmbeddingsInterface {
  const embedder = models.embedder(input, "embeddings");
  return embedder === input ? (input as EmbeddingsInterface) : toEmbeddings(embedder);
}

/** The model's name, if Sealdex knows it. */
export function nameOfModel(input: EmbeddingsInput): string | undefined {
  const name =
    typeof input === "string" ? input : (input as { readonly [sealdexModel]?: string })[sealdexModel];
  return name === undefined ? undefined : modelName(name);
}

/** Marks embeddings that were created by name. */
export const sealdexModel: unique symbol = Symbol("sealdex model");

function toEmbeddings(embedder: Embedder): EmbeddingsInterface & Pick<Embedder, "embedImage"> {
  return {
    ...(embedder.embedImage && { embedImage: (images) => embedImages(embedder, images, "images") }),
    async embedDocuments(texts) {
      return (await embedder.embedDocuments(texts)).map(toNumbers);
    },
    async embedQuery(text) {
      return toNumbers(await embedder.embedQuery(text));
    },
  };
}
