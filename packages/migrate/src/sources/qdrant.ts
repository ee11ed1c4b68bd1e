/** A collection of Qdrant, through its HTTP interface. */

import type { Metric } from "sealdex/core";
import { JsonCaller } from "../call-json.js";
import { type FieldNames, idText, splitPayload, vectorOf } from "../fields.js";
import { invalid, type Cursor, type Row, type Source, type SourceDescription } from "../source.js";

const pageRows = 256;

interface Info {
  readonly points_count?: number | null;
  readonly config: { readonly params: { readonly vectors?: VectorParams | Record<string, VectorParams> } };
}

interface VectorParams {
  readonly size: number;
  readonly distance: string;
}

interface Page {
  readonly points: readonly {
    readonly id: string | number | bigint;
    readonly payload?: Readonly<Record<string, unknown>> | null;
    readonly vector?: unknown;
  }[];
  readonly next_page_offset?: string | number | bigint | null;
}

const metrics: Readonly<Record<string, Metric>> = { Cosine: "cosine", Euclid: "euclidean" };

export class QdrantSource implements Source {
  readonly name: string;
  readonly #names: FieldNames;
  readonly #path: string;
  readonly #caller: JsonCaller;

  /** `https://host:6333/collection` */
  constructor(url: URL, names: FieldNames, apiKey: string | undefined) {
    const collection = url.pathname.slice(1);
    if (collection === "" || collection.includes("/"))
      throw invalid("qdrant: expected https://host/collection");
    this.name = `qdrant:${url.origin}/${collection}`;
    this.#names = names;
    this.#path = `/collections/${collection}`;
    this.#caller = new JsonCaller(url.origin, apiKey ? { "api-key": apiKey } : {});
  }

  async describe(): Promise<SourceDescription> {
    const { result } = (await this.#caller.get(this.#path)) as { readonly result: Info };
    const { vectors = {} } = result.config.params;
    const isOne = typeof (vectors as VectorParams).distance === "string";
    const params = isOne
      ? (vectors as VectorParams)
      : (vectors as Record<string, VectorParams>)[this.#names.vector ?? ""];
    if (params === undefined) {
      throw invalid(`--vector-field: expected one of the vectors ${Object.keys(vectors).join(", ")}`);
    }
    return {
      rows: result.points_count ?? undefined,
      metric: metrics[params.distance],
      version: JSON.stringify(params),
    };
  }

  /** The cursor is the id of a point, from which the next reading starts: a number, or the text of a UUID. */
  async *rows(after?: Cursor): AsyncGenerator<Row, void, undefined> {
    for (let offset: Page["next_page_offset"] | undefined = after; ;) {
      const body = {
        limit: pageRows,
        with_payload: true,
        with_vector: true,
        ...(offset !== undefined && { offset }),
      };
      const response = await this.#caller.post(`${this.#path}/points/scroll`, body);
      const { points, next_page_offset: next } = (response as { readonly result: Page }).result;
      for (const { id, payload, vector } of points) {
        yield {
          id: idText(id),
          vector: this.#vectorOf(vector),
          ...splitPayload(payload ?? {}, this.#names),
          // The state file holds no integers beyond 2^53: after those, reading starts at an earlier id.
          ...(typeof id !== "bigint" && { cursor: id }),
        };
      }
      if (next === null || next === undefined) return;
      offset = next;
    }
  }

  #vectorOf(vector: unknown): ArrayLike<number> | undefined {
    const isNamed = typeof vector === "object" && vector !== null && !Array.isArray(vector);
    return vectorOf(isNamed ? (vector as Record<string, unknown>)[this.#names.vector ?? ""] : vector);
  }
}
