/** A model that runs through transformers.js: loaded at first use, called in batches. */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { similarName } from "../checks/option-names.js";
import { SealdexError } from "../errors.js";
import type { Embedder, EmbeddedVector } from "./embedder.js";
import { isImageUrl } from "./image.js";
import type { InferenceResult, InferenceTask, ModelSource } from "./inference-protocol.js";
import { memoize } from "../async/memoize.js";
import { InferenceError, inferenceThread } from "./inference-thread.js";
import type { ModelOptions } from "./model-options.js";
import { type ImageSource, readImageUrl } from "./read-image.js";
import { type Recipe, recipeOf } from "./recipe.js";

/** A batch of texts ends with the text that reaches one of these limits. */
const batchTexts = 32;
const batchCharacters = 16_000;

/** Cross-encoders read some 512 tokens; tokenizing more is useless. */
const scoredCharactersMax = 16_000;

export class TransformersModel implements Embedder {
  readonly #name: string;
  readonly #recipe: Recipe;
  readonly #source: ModelSource;
  readonly #options: ModelOptions;
  /** By kind of task, since texts and images may need different files. */
  readonly #loading = new Map<InferenceTask["kind"], Promise<void>>();
  readonly #loaded = new Set<InferenceTask["kind"]>();
  /** Loading failures that no call has reported yet. */
  readonly #failures = new Map<InferenceTask["kind"], unknown>();
  #progress = "";

  /**
   * `name`: short or full, optionally with `@` and a revision, or the path of a folder. Loads
   * nothing yet.
   */
  constructor(name: string, options: ModelOptions) {
    const [, path, revision] = /^(.+?)(?:@([^@/\\]+))?$/.exec(name) ?? [];
    this.#name = name;
    this.#recipe = recipeOf(path);
    this.#options = options;
    this.#source = {
      ...findFiles(path, this.#recipe.repository, options),
      ...(revision !== undefined && { revision }),
      cacheFolder: resolve(options.cacheFolder ?? defaultCacheFolder()),
      precision: options.precision ?? "q8",
    };
  }

  /** If the model embeds images, a text that is an image's `data:` URL is embedded as the image. */
  async embedDocuments(texts: string[]): Promise<readonly EmbeddedVector[]> {
    const checked = texts.map((text, i) => checkedText(text, `texts[${i}]`));
    const urls = (await this.#takesUrls(checked)) ? checked.filter(isImageUrl) : [];
    if (urls.length === 0) return this.#embedTexts(checked);
    const vectors = await this.#embedTexts(checked.filter((text) => !isImageUrl(text)));
    const images = await this.embedImage(urls.map((url) => readImageUrl(url, "contents")));
    const [nextText, nextImage] = [vectors.values(), images.values()];
    return checked.map((text) => (isImageUrl(text) ? nextImage : nextText).next().value as Float32Array);
  }

  async embedQuery(text: string): Promise<EmbeddedVector> {
    const query = checkedText(text, "text");
    const [vector] = (await this.#takesUrls([query]))
      ? await this.embedImage([readImageUrl(query, "queryContents")])
      : await this.#embed([this.#recipe.queryPrefix + query], true);
    return vector;
  }

  /** Throws `invalid_request` for a text-only model or an image that cannot be decoded. */
  async embedImage(images: ImageSource[]): Promise<readonly EmbeddedVector[]> {
    const vectors: Float32Array[] = [];
    // One at a time: an image takes as much work as many texts, and its pixels take memory.
    for (const image of images) {
      vectors.push(...rowsOf(await this.run({ kind: "image", image }, images.length === 1)));
    }
    return vectors;
  }

  async #takesUrls(texts: readonly string[]): Promise<boolean> {
    if (!texts.some(isImageUrl)) return false;
    const { values } = await this.run({ kind: "embeds-images" }, true);
    return values[0] === 1;
  }

  async #embedTexts(texts: readonly string[]): Promise<Float32Array[]> {
    const prefixed = texts.map((text) => this.#recipe.documentPrefix + text);
    const vectors: Float32Array[] = [];
    for (const batch of batchesByLength(prefixed)) {
      const rows = await this.#embed(
        batch.map((i) => prefixed[i]),
        false,
      );
      batch.forEach((i, at) => (vectors[i] = rows[at]));
    }
    return vectors;
  }

  /** Scores documents with a cross-encoder, from 0 to 1. Checks the signal after each batch. */
  async score(query: string, documents: readonly string[], signal?: AbortSignal): Promise<number[]> {
    const scores: number[] = [];
    for (const batch of batchesByLength(documents)) {
      signal?.throwIfAborted();
      const texts = batch.map((i) => documents[i].slice(0, scoredCharactersMax));
      const { values, width } = await this.run({ kind: "score", query, documents: texts }, true);
      // A single output is the logit of relevance; of two, the last one.
      batch.forEach((i, at) => (scores[i] = 1 / (1 + Math.exp(-values[at * width + width - 1]))));
    }
    return scores;
  }

  async #embed(texts: readonly string[], urgent: boolean): Promise<Float32Array[]> {
    const { pooling, tokensMax } = this.#recipe;
    const limit = tokensMax !== undefined && { tokensMax };
    return rowsOf(await this.run({ kind: "embed", texts, pooling, ...limit }, urgent));
  }

  /** `urgent` requests run before batches. */
  async run(task: InferenceTask, urgent: boolean): Promise<InferenceResult> {
    if (!this.#loaded.has(task.kind)) await this.#load(task);
    return this.#request(task, urgent);
  }

  /** The first request loads the model; others wait, or reject with `model_loading`. */
  async #load(task: InferenceTask): Promise<void> {
    const { kind } = task;
    if (this.#failures.has(kind)) {
      const failure = this.#failures.get(kind);
      this.#failures.delete(kind);
      throw failure;
    }
    const loading = memoize(this.#loading, kind, async () => {
      await this.#request(smallest(task), true);
      this.#loaded.add(kind);
    });
    if (!this.#options.failWhileLoading) return loading;
    loading.catch((error: unknown) => this.#failures.set(kind, error));
    throw new SealdexError(
      "model_loading",
      `embedding model ${this.#name}: still loading${this.#progress}, try again`,
    );
  }

  async #request(task: InferenceTask, urgent: boolean): Promise<InferenceResult> {
    try {
      return await inferenceThread().run({ source: this.#source, task }, urgent, (file, loaded, total) => {
        this.#progress = ` (${file}: ${loaded} of ${total} bytes)`;
        this.#options.onProgress?.({ model: this.#name, file, loaded, total });
      });
    } catch (error) {
      throw error instanceof InferenceError ? this.#explain(error) : error;
    }
  }

  #explain(cause: InferenceError): SealdexError {
    const model = `embedding model ${this.#name}`;
    const isAbsent = /not found locally|Could not locate|Unauthorized|Invalid username/i.test(cause.message);
    switch (cause.stage) {
      case "package":
        return new SealdexError(
          "not_supported",
          `${model}: ${hintFor(this.#name)}requires the package @huggingface/transformers (or @xenova/transformers): ` +
            `npm install @huggingface/transformers (${cause.message})`,
          { cause },
        );
      case "model":
        return new SealdexError(
          isAbsent ? "invalid_request" : "model_unavailable",
          `${model}: ${isAbsent ? "no such model in" : "could not be loaded from"} ${this.#places()}`,
          { cause },
        );
      case "image":
        return new SealdexError("invalid_request", `${model}: ${cause.message}`, { cause });
      case "run":
        return new SealdexError("internal", `${model}: ${cause.message}`, { cause });
    }
  }

  /** Without paths, since services show messages to their clients. The cause has them. */
  #places(): string {
    const { localFolder, offline } = this.#source;
    const local = localFolder === "" ? [] : ["the local folder"];
    return [...local, "the cache folder", ...(offline ? [] : ["the Hugging Face hub"])].join(", ");
  }
}

/** The beginning of a message for a name that nothing of this package has: perhaps another model was meant. */
function hintFor(name: string): string {
  if (name.startsWith("text-embedding-"))
    return "no built-in model; for OpenAI, pass new OpenAIEmbeddings(). Otherwise it ";
  const similar = similarName(name, ["default"]);
  return similar === undefined ? "" : `no built-in model; did you mean "${similar}"? Otherwise it `;
}

/** The local folder of the model if it exists, otherwise the hub's repository. */
function findFiles(
  path: string,
  repository: string,
  { localFolder, offline = false }: ModelOptions,
): Pick<ModelSource, "id" | "localFolder" | "offline"> {
  if (/^\.{1,2}[\\/]/.test(path) || isAbsolute(path)) {
    const folder = resolve(path);
    return { id: basename(folder), localFolder: dirname(folder), offline: true };
  }
  if (localFolder === undefined) return { id: repository, localFolder: "", offline };
  const folder = resolve(localFolder);
  const id = [path, repository, basename(path)].find((name) => existsSync(join(folder, name, "config.json")));
  return { id: id ?? repository, localFolder: folder, offline: offline || id !== undefined };
}

function defaultCacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "sealdex", "models");
}

/**
 * Positions of the texts in batches, longest first: texts of similar length need little padding.
 */
function batchesByLength(texts: readonly string[]): number[][] {
  const order = [...texts.keys()].sort((a, b) => texts[b].length - texts[a].length);
  const batches: number[][] = [];
  let characters = 0;
  for (const i of order) {
    const last = batches.at(-1);
    if (last === undefined || last.length >= batchTexts || characters >= batchCharacters) {
      batches.push([i]);
      characters = texts[i].length;
    } else {
      last.push(i);
      characters += texts[i].length;
    }
  }
  return batches;
}

/** A minimal task that loads the files for `task`. */
function smallest(task: InferenceTask): InferenceTask {
  switch (task.kind) {
    case "embed":
      return { ...task, texts: ["a"] };
    case "image":
      return { ...task, image: { data: new Uint8Array(3), width: 1, height: 1, channels: 3 } };
    case "embeds-images":
      return task;
    case "score":
      return { ...task, query: "a", documents: ["a"] };
  }
}

function rowsOf({ values, width }: InferenceResult): Float32Array[] {
  return Array.from({ length: values.length / width }, (_, i) => values.slice(i * width, (i + 1) * width));
}

function checkedText(text: unknown, where: string): string {
  if (typeof text === "string") return text;
  throw new SealdexError("invalid_request", `${where}: expected a string, got ${typeof text}`);
}
