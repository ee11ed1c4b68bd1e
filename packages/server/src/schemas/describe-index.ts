/** The shape of what an index is. */

import { Type } from "typebox";
import { address, indexType, metric } from "./schemas.js";
import { post } from "./shapes.js";

const shape = {
  dimension: Type.Integer({ description: "0 until the first vector decides it." }),
  metric,
  n_lists: Type.Integer({ description: "Inverted lists that exist now: 1 until trained." }),
};

export const describeIndex = post(
  "indexes",
  "What an index is, and whether it is trained.",
  Type.Object(
    {
      index_name: Type.String(),
      is_trained: Type.Boolean(),
      ...Type.Partial(Type.Object(shape)).properties,
      metadata_schema: Type.Optional(
        Type.Object({}, { description: "Always empty: every field can be filtered by." }),
      ),
      bm25: Type.Optional(Type.Null()),
      index_type: Type.Optional(indexType),
      index_config: Type.Optional(
        Type.Object({
          type: indexType,
          index_type: indexType,
          ...shape,
          precision: Type.Optional(Type.String({ description: "Of the vectors that `ivfflat` stores." })),
          spilling: Type.Optional(
            Type.Boolean({ description: "False if rows are never in second lists; else absent." }),
          ),
          pq_dim: Type.Optional(Type.Integer()),
          pq_bits: Type.Optional(Type.Integer()),
          recall_curves: Type.Optional(
            Type.Array(
              Type.Object({
                top_k: Type.Integer(),
                points: Type.Array(Type.Object({ recall: Type.Number(), n_probes: Type.Integer() })),
              }),
              { description: "Of a trained index: how many lists training measured each recall to take." },
            ),
          ),
          segments: Type.Integer({ description: "Segments that hold the items; compaction merges them." }),
          stored_bytes: Type.Integer({ description: "What segments and model take in storage." }),
          reclaimable_bytes: Type.Integer({
            description: "What changes of the service replaced, as long as it is stored for readers.",
          }),
          embedding_model: Type.Optional(Type.String()),
          memory: Type.Object(
            {
              rss_bytes: Type.Integer(),
              kernel_bytes: Type.Integer(),
              cache_bytes: Type.Integer(),
              cache_bytes_max: Type.Integer(),
              cache_lookups: Type.Integer(),
              cache_misses: Type.Integer(),
            },
            {
              description:
                "Of the service, all indexes together: the process, the engine, opened blocks, their limit, how often they were looked up, and how often that had to read from storage.",
            },
          ),
          training_failure: Type.Optional(
            Type.String({ description: "Why the last automatic training failed, if it did." }),
          ),
        }),
      ),
    },
    {
      description:
        "With `X-Describe-Form: flat`, without `index_type` and `index_config`; with `nested`, with them alone.",
    },
  ),
  address,
);
