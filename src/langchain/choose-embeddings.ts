/** Embeddings as LangChain has them, from whatever the caller gave. */

import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { type Embedder, embedImages, type EmbeddingInput } from "../embedding/embedder.js";
import { modelName } from "../embedding/built-in.js";
import type { Models } from "../embedding/models.js";
import { toNumbers } from "./to-numbers.js";

/** What embeds documents and queries: see `EmbeddingInput`. */
export type EmbeddingsInput = EmbeddingsInterface | EmbeddingInput;

/** The Embeddings object that is meant; one that the caller gave stays that object. Throws `invalid_request`. */
export function chooseEmbeddings(input: EmbeddingsInput, models: Models): EmbeddingsInterface {
  const embedder = models.embedder(input, "embeddings");
  return embedder === input ? (input as EmbeddingsInterface) : toEmbeddings(embedder);
}

/** The name of the model that is meant, if it is one of those that Sealdex knows by name. */
export function nameOfModel(input: EmbeddingsInput): string | undefined {
  const name =
    typeof input === "string" ? input : (input as { readonly [sealdexModel]?: string })[sealdexModel];
  return name === undefined ? undefined : modelName(name);
}

/** Of embeddings that were made by a name. */
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
