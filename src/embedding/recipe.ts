/**
 * Known properties of models: repository, pooling, prefixes. Defaults for unknown models: the name
 * is the repository, mean pooling, no prefix.
 */

import type { Pooling } from "./embedder.js";

export interface Recipe {
  /** A Hugging Face repository with ONNX weights. */
  readonly repository: string;
  readonly pooling: Pooling;
  readonly queryPrefix: string;
  readonly documentPrefix: string;
  /** Tokens that the model was trained on; default: the model's own limit. */
  readonly tokensMax?: number;
}

interface Family {
  /** Matches the last part of a model's name. */
  readonly names: RegExp;
  /** Owner of a copy with ONNX weights, if the original has none. */
  readonly owner?: string;
  readonly pooling?: Pooling;
  readonly queryPrefix?: string;
  readonly documentPrefix?: string;
  readonly tokensMax?: number;
}

const forRetrieval = "Represent this sentence for searching relevant passages: ";

/** The first match counts. */
const families: readonly Family[] = [
  { names: /^all-MiniLM-L(6|12)-v\d$/, owner: "Xenova", tokensMax: 256 },
  { names: /^(all|paraphrase)-.*-v\d$/, owner: "Xenova" },
  { names: /^multi-qa-.*-dot-v\d$/, owner: "Xenova", pooling: "cls" },
  { names: /^multi-qa-.*-v\d$/, owner: "Xenova" },
  { names: /^(multilingual-)?e5-/, owner: "Xenova", queryPrefix: "query: ", documentPrefix: "passage: " },
  { names: /^bge-m3$/, owner: "Xenova", pooling: "cls" },
  { names: /^bge-.*-en(-v\d.*)?$/, owner: "Xenova", pooling: "cls", queryPrefix: forRetrieval },
  {
    names: /^bge-.*-zh(-v\d.*)?$/,
    owner: "Xenova",
    pooling: "cls",
    queryPrefix: "为这个句子生成表示以用于检索相关文章：",
  },
  { names: /^gte-(small|base|large)(-zh)?$/, owner: "Xenova" },
  { names: /^gte-/, owner: "Alibaba-NLP", pooling: "cls" },
  {
    names: /^nomic-embed-text-v1/,
    owner: "nomic-ai",
    queryPrefix: "search_query: ",
    documentPrefix: "search_document: ",
  },
  { names: /^jina-embeddings-v2-/, owner: "Xenova" },
  { names: /^mxbai-embed-/, owner: "mixedbread-ai", pooling: "cls", queryPrefix: forRetrieval },
  { names: /^snowflake-arctic-embed-(l|m)-v2/, owner: "Snowflake", pooling: "cls", queryPrefix: "query: " },
  { names: /^snowflake-arctic-embed-/, owner: "Snowflake", pooling: "cls", queryPrefix: forRetrieval },
  { names: /^(clip|siglip)-/, owner: "Xenova" },
  { names: /^ms-marco-MiniLM-/, owner: "Xenova" },
  { names: /^bge-reranker-/, owner: "Xenova" },
  { names: /^jina-reranker-v1-/, owner: "jinaai" },
];

/** Owners without quantized ONNX weights; the family's owner has a copy. */
const withoutOnnx = /^(sentence-transformers|BAAI|intfloat|thenlper|cross-encoder|openai|google|jinaai)\//;

/** Whether two names may mean the same model, for example a short name and a full one. */
export function isSameModel(a: string, b: string): boolean {
  return recipeOf(a).repository === recipeOf(b).repository;
}

/**
 * The recipe for a short name (`all-MiniLM-L6-v2`), a full one (`Xenova/all-MiniLM-L6-v2`), or the
 * path of a folder.
 */
export function recipeOf(name: string): Recipe {
  const short = name.split(/[\\/]/).at(-1) ?? name;
  const { owner, names: _, ...own } = families.find(({ names }) => names.test(short)) ?? { names: /$/ };
  const isCopied = owner !== undefined && (!name.includes("/") || withoutOnnx.test(name));
  return {
    repository: isCopied ? `${owner}/${short}` : name,
    pooling: "mean",
    queryPrefix: "",
    documentPrefix: "",
    ...own,
  };
}
