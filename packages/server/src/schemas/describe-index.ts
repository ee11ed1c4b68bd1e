/** Shape of an index's description. */

import { Type } from "typebox";
import { indexType, metric } from "./schemas.js";
import { post } from "./shapes.js";

const shape = {
  dimension: Type.Integer({ description: "0 until the first vector determines it." }),
  metric,
  n_lists: Type.Integer({ description: "Present number of inverted lists: 1 until trained." }),
};

export const describeIndex = post(
  "indexes",
  "Description and state of an index.",
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
          precision: Type.Optional(Type.String({ description: "Precision of the vectors of `ivfflat`." })),
          spilling: Type.Optional(
            Type.Boolean({
              description: "False if rows are never assigned to second lists; otherwise absent.",
            }),
          ),
          pq_dim: Type.Optional(Type.Integer()),
          pq_bits: Type.Optional(Type.Integer()),
          recall_curves: Type.Optional(
            Type.Array(
              Type.Object({
                top_k: Type.Integer(),
                points: Type.Array(Type.Object({ recall: Type.Number(), n_probes: Type.Integer() })),
              }),
              { description: "For a trained index: lists scanned per recall, as measured by training." },
            ),
          ),
          measured_recall: Type.Optional(
            Type.Array(
              Type.Object({
                top_k: Type.Integer(),
                queries: Type.Integer(),
                points: Type.Array(
                  Type.Object({
                    recall: Type.Number(),
                    found: Type.Number(),
                    low: Type.Number(),
                    high: Type.Number(),
                  }),
                ),
              }),
              {
                description:
                  "Recall of queries that the service was asked, per declared recall, with its 95 % confidence interval.",
              },
            ),
          ),
          shards: Type.Optional(
            Type.Integer({
              description: "Of a collection: counts and bytes are sums over them. Absent for an index.",
            }),
          ),
          segments: Type.Integer({ description: "Number of segments; compaction merges them." }),
          stored_bytes: Type.Integer({ description: "Stored bytes of segments and model." }),
          reclaimable_bytes: Type.Integer({
            description: "Bytes of replaced objects that are still stored for readers.",
          }),
          embedding_model: Type.Optional(Type.String()),
          text_index: Type.Optional(
            Type.Boolean({ description: "True if the index can be searched by words; otherwise absent." }),
          ),
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
                "Memory of the service for all indexes: process, engine, cached data and limit, cache lookups and misses.",
            },
          ),
          training_failure: Type.Optional(
            Type.String({ description: "Reason why the last automatic training failed." }),
          ),
        }),
      ),
    },
    {
      description:
        "With `X-Describe-Form: flat`, without `index_type` and `index_config`; with `nested`, with them alone.",
    },
  ),
  {},
);
