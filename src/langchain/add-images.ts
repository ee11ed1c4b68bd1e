/** Adds images under vectors of a model that embeds images and texts. */

import { isDate } from "../checks/value-kinds.js";
import { untilAborted } from "../async/calls.js";
import { randomUUID } from "node:crypto";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { invalid, isArray, typeName } from "../checks/input.js";
import { type Embedder, embedImages } from "../embedding/embedder.js";
import { type Image, isImage, type Keep, takeImage } from "../embedding/image.js";
import { keptText, readImage } from "../embedding/read-image.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import { shiftPosition } from "../errors.js";
import type { Filter } from "../api/filter/compile.js";
import { convertJson, type JsonText } from "../checks/json-text.js";
import type { Item } from "../api/vector-index.js";
import type { AddOptions } from "./add-documents.js";
import type { StoreIndex } from "./store-index.js";
import type { StoreLimits } from "./store-limits.js";
import { toNumbers } from "./to-numbers.js";

/** Options of storing images. */
export interface AddImagesOptions extends Omit<AddOptions, "deleteFilter" | "skipUnchanged"> {
  /** One per image, or one for all. Default: none. */
  readonly metadatas?: object[] | object;
  /**
   * The text of the documents: `true` for the image itself as a `data:` URL, or one text per image,
   * for example captions. Default `false`: none.
   */
  readonly keep?: boolean | readonly string[];
}

const addImagesOptions = optionNames<AddImagesOptions>("addImages", {
  ids: true,
  metadatas: true,
  keep: true,
  expiresAt: true,
  namespace: true,
  onProgress: true,
  signal: true,
});

/** Images per batch. */
const batchImages = 32;

/** A copy of the arguments, independent of the caller's objects. */
interface ImageAddition extends Pick<AddImagesOptions, "onProgress" | "signal" | "namespace" | "expiresAt"> {
  readonly images: readonly Image[];
  readonly ids: readonly string[];
  readonly metadatas: readonly JsonText[];
  readonly keep: boolean | readonly string[];
  readonly within: Filter | undefined;
}

/**
 * Copies the arguments of a call. Throws `forbidden` for metadata that the store's filter does not
 * match.
 */
export function takeImages(
  images: readonly Image[],
  given: AddImagesOptions = {},
  limits: StoreLimits,
): ImageAddition {
  const options = takeOptions(given, addImagesOptions);
  if (!isArray(images)) throw invalid(`images: expected an array, got ${typeName(images)}`);
  const { metadatas = {}, keep = false, expiresAt, onProgress, signal } = options;
  const ids = options.ids ?? images.map(() => randomUUID());
  for (const [name, list] of Object.entries({ ids, metadatas, keep })) {
    if (Array.isArray(list) && list.length !== images.length) {
      throw invalid(`${name}: expected one for each of the ${images.length} images, got ${list.length}`);
    }
  }
  const all = images.map((_, i) => {
    const metadata: unknown = Array.isArray(metadatas) ? metadatas[i] : metadatas;
    const taken = convertJson(metadata, `images[${i}].metadata`);
    limits.checkAdded(taken, `images[${i}]`);
    return taken;
  });
  return {
    images: images.map((image, i) => {
      if (isImage(image)) return takeImage(image);
      throw invalid(`images[${i}]: expected an image, got ${typeName(image)}`);
    }),
    ids: [...ids],
    metadatas: all,
    keep: typeof keep === "boolean" ? keep : [...keep],
    expiresAt: isDate(expiresAt) ? new Date(expiresAt) : expiresAt,
    namespace: limits.namespaceOf(options),
    within: limits.within,
    onProgress,
    signal,
  };
}

/** Embeds and stores the images. Returns their ids in order. */
export async function addImages(
  store: StoreIndex,
  { images, ids, metadatas, keep, expiresAt, namespace, within, onProgress, signal }: ImageAddition,
  embeddings: EmbeddingsInterface,
): Promise<string[]> {
  await store.openForVectors();
  signal?.throwIfAborted();
  for (let start = 0; start < images.length; start += batchImages) {
    const items: Item[] = [];
    for (let i = start; i < Math.min(start + batchImages, images.length); i++) {
      signal?.throwIfAborted();
      const own: Keep = typeof keep === "boolean" ? keep : keep[i];
      const embedding = embedImage(images[i], own, embeddings, `images[${i}]`);
      const { vector, contents } = await untilAborted(embedding, signal);
      items.push({
        id: ids[i],
        vector,
        contents,
        metadata: metadatas[i],
        expiresAt,
      });
    }
    const adding = store.useForVectors(({ index }) => index.upsert(items, { namespace, within, signal }));
    await adding.catch((error: unknown) => {
      throw shiftPosition(error, (i) => `images[${start + i}]`);
    });
    onProgress?.({ stored: start + items.length, total: images.length });
  }
  return [...ids];
}

/** The image's vector and its stored text. */
export async function embedImage(image: Image, keep: Keep, embeddings: EmbeddingsInterface, where: string) {
  const source = await readImage(image, where);
  const [vector] = await embedImages(embeddings as Embedder, [source], where);
  return { vector: toNumbers(vector), contents: keptText(source, keep, where) };
}
