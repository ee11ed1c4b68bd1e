/**
 * Shapes of all bodies, for validation and for the OpenAPI document.
 *
 * Names are the wire's. Unknown properties are refused, since an ignored filter would return items
 * that the caller meant to exclude; null counts as absent. The library checks values (dimensions,
 * keys, filters).
 */

import type { Metadata } from "sealdex/core";
import { dimensionMax, queriesMax } from "sealdex/wire";
import { Type } from "typebox";
import {
  address,
  answers,
  closed,
  done,
  fieldsMax,
  ignored,
  indexKey,
  limitedItems,
  pageLimit,
  oneOf,
  optional,
  post,
  unsupported,
} from "./shapes.js";
import { orderFields, profile, profileHeader, textIndex, wordFields, wordResults } from "./query-fields.js";

/** Characters of a text to search for: as many as the contents of an item. */
const queryTextLengthMax = 1024 * 1024;
export const metric = oneOf("euclidean", "cosine", "squared_euclidean");
export const indexType = oneOf("ivfflat", "ivf", "ivfpq");
export const vector = Type.Array(Type.Number());
const queryVectors = Type.Array(Type.Number(), { maxItems: dimensionMax });
const queryBatch = Type.Array(vector, { maxItems: queriesMax });
const openObject = (title: string) =>
  Type.Unsafe<Metadata>({ title, type: "object", additionalProperties: true });
export const metadata = openObject("Metadata");
const filterShape = openObject("Filter");

const namespaceOf = (what: string) => optional(Type.String({ maxLength: 512 }), what);
/** For reads, changes and deletes. */
export const namespace = namespaceOf(
  "Only items of this namespace. Default: all items, in namespaces or not.",
);
/** Which items a request is about. */
export const which = {
  namespace,
  filters: optional(filterShape, "Only matching items: MongoDB's operators and dotted paths."),
  filter: optional(filterShape, "The same as `filters`; giving both is an error."),
};

const dimension = optional(Type.Integer(), "Default (and 0): the embedding model's, or the first vector's.");

const indexConfig = closed(
  {
    type: oneOf("ivfflat", "ivf", "ivfpq", "ivfsq"),
    dimension,
    n_lists: optional(Type.Integer(), "Target number of inverted lists. Default 1024."),
    precision: optional(
      oneOf("float32", "float16", "int8"),
      "Precision of the vectors of `ivfflat`. Vectors below `float32` are rounded once. Default: `float32`.",
    ),
    spilling: optional(
      Type.Boolean(),
      "For `ivfflat`: whether training may assign rows to second lists. Default: true.",
    ),
    pq_dim: optional(Type.Integer(), "Required for `ivfpq`. Must divide the dimension."),
    pq_bits: optional(Type.Integer(), "Required for `ivfpq`. 1 to 16."),
    sq_bits: optional(
      Type.Integer({ minimum: 1, maximum: 32 }),
      "For `ivfsq`, which is stored as `ivfflat` with 32 bits.",
    ),
  },
  { title: "IndexConfig" },
);

const image = closed(
  { base64: Type.String({ description: "Of a PNG, JPEG, WebP or GIF file." }) },
  { title: "Image" },
);
const contents = (description: string, limits: { readonly maxLength?: number } = {}) =>
  Type.Optional(Type.Union([Type.String(limits), image, Type.Null()], { description }));

const item = closed(
  {
    id: Type.String({ description: "1 to 512 bytes of UTF-8." }),
    vector: optional(vector, "May be omitted if the index has an embedding model and contents are present."),
    contents: contents("A text, or an image if the embedding model supports images."),
    keep: optional(
      Type.Union([Type.Boolean(), Type.String()]),
      "Contents to store for an image: `true` for the image as a `data:` URL, or a text. Default: none.",
    ),
    metadata: optional(metadata),
    expires_at: optional(
      Type.String({ maxLength: 40 }),
      "Time from which the item is hidden, ISO 8601 with a zone; compaction removes it. Default: never.",
    ),
  },
  { title: "Item" },
);
export const expiresAt = Type.Optional(
  Type.String({ description: "Returned with metadata, for items that expire." }),
);

export const itemName = {
  id: Type.String(),
  namespace: Type.Optional(Type.String({ description: "Absent outside namespaces." })),
};

export const match = Type.Object(
  {
    ...itemName,
    distance: Type.Optional(Type.Number()),
    score: Type.Optional(Type.Number({ description: "For `rerank` and `query_text`: larger is better." })),
    ...wordResults,
    vector: Type.Optional(vector),
    decoded: Type.Optional(vector),
    contents: Type.Optional(Type.String()),
    metadata: Type.Optional(metadata),
    expires_at: expiresAt,
  },
  { title: "Match" },
);

export const createIndex = {
  tags: ["indexes"],
  summary: "Creates an encrypted index, or a collection of several.",
  body: closed({
    // Checked before the key: clients that name a KMS give none.
    ...unsupported("kms_name"),
    ...address,
    index_config: optional(indexConfig, "Default: `ivfflat`."),
    dimension,
    metric: optional(metric, "Default: `euclidean`."),
    storage_precision: optional(oneOf("float32"), "Of stored vectors."),
    ...unsupported("metadata_schema", "text_fields", "bm25_k1", "bm25_b"),
    embedding_model: optional(Type.String(), "Embeds texts. `default` is built in."),
    text_index: textIndex,
    shards: optional(
      Type.Integer(),
      "Creates a collection: 1 to 4,096 indexes that all other requests use as one. Default: one index.",
    ),
  }),
  response: answers(done),
};

export const deleteIndex = post("indexes", "Deletes an index or a collection, and all its data.", done, {
  collection: optional(Type.Boolean(), "`true` refuses an index. Default false: either is deleted."),
});

export const trainIndex = post("indexes", "Clusters the items into inverted lists.", done, {
  n_lists: optional(Type.Integer()),
  queries: optional(
    queryBatch,
    "Example queries, from which the service learns how much to scan for a recall.",
  ),
  ...ignored("batch_size", "max_iters", "tolerance", "max_memory"),
});

export const rotateKey = post(
  "indexes",
  "Changes the key of an index. The old key opens nothing afterwards.",
  done,
  { new_index_key: indexKey },
);

export const reencrypt = post(
  "indexes",
  "Draws new data keys and seals all stored objects again under them. Responds when it is done.",
  done,
  {},
);

export const anchor = post(
  "indexes",
  "Returns a token for the present state of an index. With an older token, checks that the index descends from it; otherwise 500.",
  Type.Object({ anchor: Type.String() }),
  { anchor: optional(Type.String({ maxLength: 200 })) },
);

export const compactIndex = post(
  "indexes",
  "Merges segments and drops deleted and replaced items, so that queries read less.",
  done,
  {},
);

export const splitShards = post(
  "indexes",
  "Splits shards of a collection while it is in use. Responds when it is done; after an error, repeat the request.",
  done,
  { shards: Type.Integer({ description: "Their number afterwards, 1 to 4,096." }) },
);

export const listIndexes = {
  tags: ["indexes"],
  summary: "Names of indexes, in the order of code points.",
  querystring: closed({
    limit: pageLimit,
    after: Type.Optional(Type.String({ description: "Only names after this one." })),
  }),
  response: answers(Type.Object({ indexes: Type.Array(Type.String()) })),
};

/** Options of a query besides its vectors or contents. */
export const queryOptions = {
  top_k: optional(
    Type.Integer(),
    "Default 100. More than there are items gives all of them, as far as results may be so large.",
  ),
  recall: optional(
    Type.Union([Type.Number(), oneOf("exact")]),
    "Recall, 0.8 to 0.999 or `exact`; excludes n_probes and greedy.",
  ),
  n_probes: optional(Type.Integer(), "Inverted lists to probe. Default 0: chosen by the service."),
  greedy: optional(Type.Boolean(), "Higher recall, slower. Default false."),
  allow_partial_after_ms: optional(
    Type.Integer({ minimum: 1 }),
    "Of a collection at a service with leaves: leaves out shards that no leaf has searched by then. Requires `profile` in include.",
  ),
  ...unsupported("rerank_mult"),
  ...which,
  include: optional(
    Type.Array(oneOf("distance", "metadata", "contents", "vector", "decoded", "profile"), {
      maxItems: fieldsMax,
    }),
    "Default: distance and metadata. `vector` needs an index of the type `ivfflat`.",
  ),
};

const vectorQuery = post(
  "vectors",
  "The nearest neighbors of one or more vectors, or of a text, ascending by distance. With order_by, ordered items.",
  Type.Object({
    // Nested first: clients generated for Python try the shapes in this order, and may take a list of matches for one match.
    results: Type.Union([Type.Array(Type.Array(match)), Type.Array(match)], {
      description: "Flat for one vector or a text; for a 2D array one list per vector, in request order.",
    }),
    cursor: Type.Optional(Type.String({ description: "Cursor of the next page, with order_by." })),
    profile,
  }),
  {
    query_vectors: Type.Optional(
      Type.Union([queryVectors, queryBatch, Type.Null()], {
        description: "1D: a single query. 2D: a batch of at most 1,000.",
      }),
    ),
    query_contents: contents("A text or an image to search for, instead of query_vectors.", {
      maxLength: queryTextLengthMax,
    }),
    ...queryOptions,
    ...wordFields,
    ...orderFields,
    rerank: optional(
      Type.String(),
      "A cross-encoder that the operator allows: it scores the contents of the nearest 4 × top_k items (top_k at most 100) " +
        "against the text of query_contents. Results are ordered by score.",
    ),
  },
);

export const query = { ...vectorQuery, headers: profileHeader };

export const upserted = Type.Object({
  ...done.properties,
  stored: Type.Integer(),
  unchanged: Type.Integer(),
  deleted: Type.Integer(),
});

export const upsertOptions = {
  namespace: namespaceOf("Namespace of the items. Default: none."),
  delete_filter: optional(
    filterShape,
    "Items that match and are not among these are deleted in the same commit: the chunks of a document are replaced at once.",
  ),
  within: optional(
    filterShape,
    "A filter: if an item does not match it, or has the id of an item that does not, none is stored, and the answer is 403.",
  ),
  skip_unchanged: optional(
    Type.Boolean(),
    "Skip items already stored with equal contents, metadata and vector. Default false.",
  ),
};

export const upsert = post("vectors", "Stores items, replacing those with the same id.", upserted, {
  items: Type.Array(item, limitedItems),
  ...upsertOptions,
});

export const updateItems = post(
  "vectors",
  "Changes the metadata of items by id, by filter, or of all of them, without vectors and contents.",
  Type.Object({ ...done.properties, matched: Type.Integer(), updated: Type.Integer() }),
  {
    ids: optional(Type.Array(Type.String(), limitedItems), "Unknown ids are ignored."),
    ...which,
    update_all: optional(
      Type.Boolean(),
      "`true` updates all items; a filter that matches everything is refused.",
    ),
    metadata: optional(metadata, "Top-level fields to set; the others stay."),
    unset: optional(Type.Array(Type.String(), { maxItems: 1000 }), "Names of top-level fields to remove."),
    replace: optional(Type.Boolean(), "Whether `metadata` replaces all fields. Default false."),
  },
);

export const deleteItems = post("vectors", "Deletes items by id, by filter, by both, or all of them.", done, {
  ids: optional(Type.Array(Type.String(), limitedItems), "Unknown ids are ignored."),
  ...which,
  delete_all: optional(
    Type.Boolean(),
    "`true` deletes all items; a filter that matches everything is refused.",
  ),
});

export const countItems = post(
  "vectors",
  "The number of items, or of those that match.",
  Type.Object({ status: Type.String(), message: Type.String(), result: Type.Integer() }),
  which,
);
