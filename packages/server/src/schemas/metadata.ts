/** Shapes of queries by metadata only, and of the list of embedding models. */

import { Type } from "typebox";
import { which } from "./schemas.js";
import { orderBy } from "./query-fields.js";
import { answers, optional, post, unsupported } from "./shapes.js";

export const queryMetadata = post(
  "vectors",
  "Ids of items whose metadata match, in the order of their ids or of a field.",
  Type.Object({
    results: Type.Array(Type.Object({ id: Type.String() })),
    ids: Type.Array(Type.String(), { description: "The same ids." }),
    count: Type.Integer(),
  }),
  {
    ...which,
    top_k: optional(Type.Integer({ minimum: 0 }), "Maximum number. Default: all."),
    order_by: orderBy,
    ascending: optional(Type.Boolean(), "Default true. Of `order_by` with a name alone."),
    ...unsupported("text", "text_fields", "text_field_weights", "require_all_terms"),
  },
);

export const listModels = {
  tags: ["service"],
  summary: "Embedding models that indexes may use.",
  response: answers(
    Type.Object({
      models: Type.Array(
        Type.Object({
          name: Type.String(),
          dimension: Type.Union([Type.Integer(), Type.Null()], {
            description: "Null until the model is used.",
          }),
          max_seq_length: Type.Union([Type.Integer(), Type.Null()], {
            description: "In tokens. Null if there is none, or until the model is used.",
          }),
        }),
      ),
    }),
  ),
};

/** The built-in models at their usual size, and others by name. */
export function encodeModels(names: readonly string[]) {
  return {
    models: [
      { name: "default", dimension: 1024, max_seq_length: null },
      { name: "sealdex/lexical-512", dimension: 512, max_seq_length: null },
      ...names.map((name) => ({ name, dimension: null, max_seq_length: null })),
    ],
  };
}
