/** A collection of Qdrant, through its HTTP interface. */

import type { Metric } from "sealdex/core";
import { JsonCaller } from "../call-json.js";
import { type FieldNames, idText, splitPayload, vectorOf } from "../fields.js";
import { type Cursor, invalid, type Source } from "../source.js";

const pageRows = 256;

interface VectorParams {
  readonly size: number;
  readonly distance: string;
}

interface Info {
  readonly points_count?: number | null;
  readonly config: { readonly params: { readonly vectors?: object } };
}

type PointId = string | number | bigint;

interface Page {
  readonly points: readonly {
    readonly id: PointId;
    readonly payload?: Readonly<Record<string, unknown>> | null;
    readonly vector?: unknown;
  }[];
  readonly next_page_offset?: PointId | null;
}

const metrics: Readonly<Record<string, Metric>> = { Cosine: "cosine", Euclid: "euclidean" };

/** `https://host:6333/collection` */
export function qdrantSource(url: URL, names: FieldNames, apiKey: string | undefined): Source {
  const collection = url.pathname.slice(1);
  if (collection === "" || collection.includes("/"))
    throw invalid("qdrant: expected https://host/collection");
  const path = `/collections/${collection}`;
  const caller = new JsonCaller(url.origin, apiKey ? { "api-key": apiKey } : {});
  /** Collections have one vector, or several by name. */
  const chosen = (vectors: object) => (vectors as Readonly<Record<string, unknown>>)[names.vector ?? ""];
  return {
    name: `qdrant:${url.origin}/${collection}`,
    async describe() {
      const { result } = (await caller.get(path)) as { readonly result: Info };
      const { vectors = {} } = result.config.params;
      const params = ("distance" in vectors ? vectors : chosen(vectors)) as VectorParams | undefined;
      if (params === undefined) {
        throw invalid(`--vector-field: expected one of the vectors ${Object.keys(vectors).join(", ")}`);
      }
      const metric = metrics[params.distance];
      return { rows: result.points_count ?? undefined, metric, version: JSON.stringify(params) };
    },
    /** The cursor is the id of a point, from which the next reading starts. */
    async *rows(after?: Cursor) {
      for (let offset: PointId | undefined = after; ;) {
        const body = { limit: pageRows, with_payload: true, with_vector: true, offset };
        const response = await caller.post(`${path}/points/scroll`, body);
        const { points, next_page_offset: next } = (response as { readonly result: Page }).result;
        for (const { id, payload, vector } of points) {
          const isNamed = typeof vector === "object" && vector !== null && !Array.isArray(vector);
          yield {
            id: idText(id),
            vector: vectorOf(isNamed ? chosen(vector) : vector),
            ...splitPayload(payload ?? {}, names),
            // The state file holds no integers beyond 2^53: after those, reading starts at an earlier id.
            ...(typeof id !== "bigint" && { cursor: id }),
          };
        }
        if (next === null || next === undefined) return;
        offset = next;
      }
    },
  };
}
