/** A model that runs through transformers.js, by its name: found, loaded when first used, and asked in batches. */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { SealdexError } from "../errors.js";
import type { Embedder, EmbeddedVector } from "./embedder.js";
import type { InferenceResult, InferenceTask, ModelSource } from "./inference-protocol.js";
import { InferenceError, inferenceThread } from "./inference-thread.js";
import type { ModelOptions } from "./model-options.js";
import { type Recipe, recipeOf } from "./recipe.js";

/** A batch of texts ends with the text that reaches one of these. */
const batchTexts = 32;
const batchCharacters = 16_000;

export class TransformersModel implements Embedder {
  readonly #name: string;
  readonly #recipe: Recipe;
  readonly #source: ModelSource;
  readonly #options: ModelOptions;
  #loading: Promise<void> | undefined;
  #isLoaded = false;
  #progress = "";

  /** `name`: short or full, with `@` and a revision if need be, or the path of a folder. Nothing is read yet. */
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

  async embedDocuments(texts: string[]): Promise<readonly EmbeddedVector[]> {
    const prefixed = texts.map((text, i) => this.#recipe.documentPrefix + checkedText(text, `texts[${i}]`));
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

  async embedQuery(text: string): Promise<EmbeddedVector> {
    const [vector] = await this.#embed([this.#recipe.queryPrefix + checkedText(text, "text")], true);
    return vector;
  }

  /** Of a cross-encoder: one score per document, from 0 to 1. */
  async score(query: string, documents: readonly string[]): Promise<number[]> {
    const scores: number[] = [];
    for (const batch of batchesByLength(documents)) {
      const texts = batch.map((i) => documents[i]);
      const { values, width } = await this.run({ kind: "score", query, documents: texts }, true);
      // One output says how well both belong together; of two the last one does.
      batch.forEach((i, at) => (scores[i] = 1 / (1 + Math.exp(-values[at * width + width - 1]))));
    }
    return scores;
  }

  async #embed(texts: readonly string[], urgent: boolean): Promise<Float32Array[]> {
    const { pooling, tokensMax } = this.#recipe;
    const limit = tokensMax !== undefined && { tokensMax };
    return rowsOf(await this.run({ kind: "embed", texts, pooling, ...limit }, urgent));
  }

  /** `urgent`: goes before requests of which many wait. */
  async run(task: InferenceTask, urgent: boolean): Promise<InferenceResult> {
    if (!this.#isLoaded) await this.#load(task);
    return this.#request(task, urgent);
  }

  /** The first request loads the model; what comes meanwhile waits for it, or is told to come again. */
  async #load(task: InferenceTask): Promise<void> {
    this.#loading ??= this.#request(smallest(task), true).then(
      () => {
        this.#isLoaded = true;
      },
      (error: unknown) => {
        this.#loading = undefined;
        throw error;
      },
    );
    if (!this.#options.failWhileLoading) return this.#loading;
    // Whoever asks next is told how it ended.
    this.#loading.catch(() => undefined);
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
          `${model}: expected @huggingface/transformers or @xenova/transformers to be installed and to load: ` +
            `npm install @huggingface/transformers (${cause.message})`,
          { cause },
        );
      case "model":
        return new SealdexError(
          isAbsent ? "invalid_request" : "model_unavailable",
          `${model}: ${isAbsent ? "there is no such model in" : "it could not be loaded from"} ${this.#places()}`,
          { cause },
        );
      case "run":
        return new SealdexError("internal", `${model}: ${cause.message}`, { cause });
    }
  }

  /** Without paths: a service shows messages to its clients. The cause has them. */
  #places(): string {
    const { localFolder, offline } = this.#source;
    const local = localFolder === "" ? [] : ["the local folder"];
    return [...local, "the cache folder", ...(offline ? [] : ["the Hugging Face hub"])].join(", ");
  }
}

/** The local folder that has the model, if there is one; else the hub's repository. */
function findFiles(
  path: string,
  repository: string,
  { localFolder, offline = false }: ModelOptions,
): Pick<ModelSource, "id" | "localFolder" | "offline"> {
  if (isFolderPath(path)) {
    const folder = resolve(path);
    return { id: basename(folder), localFolder: dirname(folder), offline: true };
  }
  if (localFolder === undefined) return { id: repository, localFolder: "", offline };
  const folder = resolve(localFolder);
  const id = [path, repository, basename(path)].find((name) => existsSync(join(folder, name, "config.json")));
  return { id: id ?? repository, localFolder: folder, offline: offline || id !== undefined };
}

/** Whether a name is the path of a folder, and not a name on the hub. */
export function isFolderPath(name: string): boolean {
  return /^\.{1,2}[\\/]/.test(name) || isAbsolute(name);
}

function defaultCacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "sealdex", "models");
}

/** The positions of the texts, longest first, in batches: texts of one length need no padding. */
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

/** A task that loads what `task` needs and computes hardly anything. */
function smallest(task: InferenceTask): InferenceTask {
  switch (task.kind) {
    case "embed":
      return { ...task, texts: ["a"] };
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
