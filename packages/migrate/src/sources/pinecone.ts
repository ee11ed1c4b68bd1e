/** A namespace of a serverless index of Pinecone: only those list their ids. */

import type { Metric } from "sealdex/core";
import { JsonCaller } from "../call-json.js";
import type { FieldNames } from "../fields.js";
import { invalid, type Cursor, type Row, type Source, type SourceDescription } from "../source.js";

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
  readonly vectors: Readonly<Record<string, PineconeVector>>;
}

interface PineconeVector {
  readonly id: string;
  readonly values?: readonly number[];
  readonly sparseValues?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const metrics: Readonly<Record<string, Metric>> = { cosine: "cosine", euclidean: "squared_euclidean" };

export class PineconeSource implements Source {
  readonly name: string;
  readonly #names: FieldNames;
  readonly #namespace: string;
  readonly #caller: JsonCaller;

  /** `https://host-of-the-index/namespace` */
  constructor(url: URL, names: FieldNames, apiKey: string | undefined) {
    if (!apiKey) throw invalid("PINECONE_API_KEY: expected an API key, got none");
    this.#namespace = decodeURIComponent(url.pathname.slice(1));
    this.name = `pinecone:${url.origin}/${this.#namespace}`;
    this.#names = names;
    this.#caller = new JsonCaller(url.origin, { "Api-Key": apiKey, "X-Pinecone-API-Version": apiVersion });
  }

  async describe(): Promise<SourceDescription> {
    const stats = (await this.#caller.post("/describe_index_stats", {})) as Stats;
    const own = stats.namespaces?.[this.#namespace] ?? stats.namespaces?.[this.#namespace || "__default__"];
    return {
      rows: own?.vectorCount ?? 0,
      metric: metrics[stats.metric ?? ""],
      version: String(stats.dimension ?? 0),
    };
  }

  /** The cursor is the token of the next page. */
  async *rows(after?: Cursor): AsyncGenerator<Row, void, undefined> {
    for (let token = after === undefined ? undefined : String(after); ;) {
      const query = new URLSearchParams({ namespace: this.#namespace, limit: "100" });
      if (token !== undefined) query.set("paginationToken", token);
      const page = (await this.#caller.get(`/vectors/list?${query}`)) as Page;
      const ids = (page.vectors ?? []).map(({ id }) => id);
      const next = page.pagination?.next;
      const vectors = ids.length > 0 ? await this.#fetch(ids) : {};
      for (const [i, id] of ids.entries()) {
        if (!Object.hasOwn(vectors, id)) continue;
        const isLast = i === ids.length - 1 && next !== undefined;
        yield { ...this.#rowOf(vectors[id]), ...(isLast && { cursor: next }) };
      }
      if (next === undefined) return;
      token = next;
    }
  }

  async #fetch(ids: readonly string[]): Promise<Fetched["vectors"]> {
    const query = new URLSearchParams({ namespace: this.#namespace });
    for (const id of ids) query.append("ids", id);
    return ((await this.#caller.get(`/vectors/fetch?${query}`)) as Fetched).vectors;
  }

  /** LangChain keeps the text in the field `text`; every other field stays in the metadata. */
  #rowOf({ id, values, sparseValues, metadata = {} }: PineconeVector): Row {
    const { [this.#names.text ?? "text"]: text, ...others } = metadata;
    const isText = typeof text === "string";
    return {
      id,
      vector: values,
      contents: isText ? text : undefined,
      metadata: { ...(isText ? others : metadata), ...(sparseValues !== undefined && { sparseValues }) },
    };
  }
}
