/** The profile of a query. */

import { Type } from "typebox";

const ms = (...names: string[]) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, Type.Number()])), {
    description: "Milliseconds of each stage. Their sum is `total_ms`.",
  });

export const profile = Type.Optional(
  Type.Object(
    {
      total_ms: Type.Number(),
      stages_ms: ms("check", "open", "embed", "choose", "read", "decrypt", "scan", "fetch", "rerank"),
      waits: Type.Integer({ description: "Waits for storage. Requests that overlap are one wait." }),
      requests: Type.Integer({ description: "Requests to storage." }),
      bytes_read: Type.Integer(),
      cache_hits: Type.Integer({ description: "Blocks that were in memory." }),
      cache_misses: Type.Integer({ description: "Blocks that were not." }),
      lists: Type.Integer({ description: "Inverted lists that were chosen." }),
      rows_compared: Type.Integer({ description: "Rows compared by their codes." }),
      rows_read: Type.Integer({ description: "Rows compared by their vectors." }),
      shards_missing: Type.Integer({
        description: "Shards of a collection that are left out: see allow_partial_after_ms.",
      }),
    },
    { title: "Profile", description: "Returned if `include` has `profile`." },
  ),
);

export const profileHeader = Type.Object({
  "x-profile": Type.Optional(
    Type.String({
      description:
        "`true`: the response has the header `Server-Timing`, with the time of each stage of the query.",
    }),
  ),
});
