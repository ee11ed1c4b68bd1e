/** A namespace of a serverless index of Pinecone: only those list their ids. */

import type { Metric } from "sealdex/core";
import { JsonCaller } from "../call-json.js";
import type { FieldNames } from "../fields.js";
import { type Cursor, invalid, type Source } from "../source.js";

const apiVersion = "2025-04";

interface Stats {
  readonly namespaces?: Readonly<Record<string, { readonly vectorCount?: number }>>;
  readonly dimension?: number;
  readonly metric?: string;
}

interface Page {
  readonly vectors?: readonly { readonly id: string }[];
  readonly pagination?: { readonly next?: string };
}

interface Fetched {
  readonly vectors: Readonly<
    Record<
      string,
      {
        readonly values?: readonly number[];
        readonly sparseValues?: unknown;
        readonly metadata?: Readonly<Record<string, unknown>>;
      }
    >
  >;
}

const metrics: Readonly<Record<string, Metric>> = { cosine: "cosine", euclidean: "squared_euclidean" };

/** `https://host-of-the-index/namespace` */
export function pineconeSource(url: URL, names: FieldNames, apiKey: string | undefined): Source {
  if (!apiKey) throw invalid("PINECONE_API_KEY: expected an API key, got none");
  const namespace = decodeURIComponent(url.pathname.slice(1));
  const caller = new JsonCaller(url.origin, { "Api-Key": apiKey, "X-Pinecone-API-Version": apiVersion });
  const fetchAll = async (ids: readonly string[]) => {
    const query = new URLSearchParams({ namespace });
    for (const id of ids) query.append("ids", id);
    return ((await caller.get(`/vectors/fetch?${query}`)) as Fetched).vectors;
  };
  return {
    name: `pinecone:${url.origin}/${namespace}`,
    async describe() {
      const {
        namespaces = {},
        metric,
        dimension,
      } = (await caller.post("/describe_index_stats", {})) as Stats;
      const own = namespaces[namespace] ?? namespaces[namespace || "__default__"];
      return {
        rows: own?.vectorCount ?? 0,
        metric: metrics[metric ?? ""],
        version: String(dimension ?? 0),
      };
    },
    /** The cursor is the token of the next page. */
    async *rows(after?: Cursor) {
      for (let token = after; ;) {
        const query = new URLSearchParams({ namespace, limit: "100" });
        if (token !== undefined) query.set("paginationToken", String(token));
        const { vectors = [], pagination } = (await caller.get(`/vectors/list?${query}`)) as Page;
        const next = pagination?.next;
        const fetched = vectors.length > 0 ? await fetchAll(vectors.map(({ id }) => id)) : {};
        for (const [i, { id }] of vectors.entries()) {
          if (!Object.hasOwn(fetched, id)) continue;
          const { values, sparseValues, metadata = {} } = fetched[id];
          // LangChain keeps the text in the field `text`.
          const { [names.text ?? "text"]: text, ...others } = metadata;
          const isText = typeof text === "string";
          yield {
            id,
            vector: values,
            contents: isText ? text : undefined,
            metadata: {
              ...(isText ? others : metadata),
              ...(sparseValues !== undefined && { sparseValues }),
            },
            ...(i === vectors.length - 1 && next !== undefined && { cursor: next }),
          };
        }
        if (next === undefined) return;
        token = next;
      }
    },
  };
}
