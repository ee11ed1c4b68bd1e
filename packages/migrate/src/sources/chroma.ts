/** A collection of a Chroma server, through version 2 of its interface. */

import type { Metric } from "sealdex/core";
import { JsonCaller } from "../call-json.js";
import { invalid, type Row, type Source, type SourceDescription } from "../source.js";

/** Chroma's cloud refuses more. */
const pageRows = 300;

interface Collection {
  readonly id: string;
  readonly configuration_json?: Readonly<Record<string, { readonly space?: string } | null>>;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}

interface Page {
  readonly ids: readonly string[];
  readonly embeddings: readonly (readonly number[] | null)[];
  readonly documents: readonly (string | null)[];
  readonly metadatas: readonly (Readonly<Record<string, unknown>> | null)[];
}

const metrics: Readonly<Record<string, Metric>> = { cosine: "cosine", l2: "squared_euclidean" };

export class ChromaSource implements Source {
  readonly name: string;
  readonly #collections: string;
  readonly #collection: string;
  readonly #caller: JsonCaller;

  /** `http://host:8000/collection?tenant=…&database=…` */
  constructor(url: URL, apiKey: string | undefined) {
    const path = url.pathname.split("/").slice(1).map(decodeURIComponent);
    this.#collection = path.at(-1) ?? "";
    if (path.length !== 1 || this.#collection === "")
      throw invalid("chroma: expected http://host/collection");
    const { tenant = "default_tenant", database = "default_database" } = Object.fromEntries(url.searchParams);
    this.#collections = `/api/v2/tenants/${encodeURIComponent(tenant)}/databases/${encodeURIComponent(database)}/collections`;
    this.name = `chroma:${url.origin}/${this.#collection} (${tenant}/${database})`;
    this.#caller = new JsonCaller(url.origin, apiKey ? { "x-chroma-token": apiKey } : {});
  }

  async describe(): Promise<SourceDescription> {
    const { id, configuration_json: configuration = {}, metadata } = await this.#find();
    const rows = (await this.#caller.get(`${this.#collections}/${id}/count`)) as number;
    const space = configuration.hnsw?.space ?? configuration.spann?.space ?? metadata?.["hnsw:space"] ?? "l2";
    return { rows, metric: metrics[String(space)], version: id };
  }

  /** The cursor is the number of rows before it: Chroma lists by the order of insertion. */
  async *rows(after: number = 0): AsyncGenerator<Row, void, undefined> {
    const { id } = await this.#find();
    const include = ["embeddings", "documents", "metadatas"];
    for (let offset = after; ;) {
      const body = { include, limit: pageRows, offset };
      const page = (await this.#caller.post(`${this.#collections}/${id}/get`, body)) as Page;
      for (const [i, own] of page.ids.entries()) {
        yield {
          id: own,
          vector: page.embeddings[i] ?? undefined,
          contents: page.documents[i] ?? undefined,
          metadata: page.metadatas[i] ?? {},
          cursor: offset + i + 1,
        };
      }
      if (page.ids.length === 0) return;
      offset += page.ids.length;
    }
  }

  async #find(): Promise<Collection> {
    const path = `${this.#collections}/${encodeURIComponent(this.#collection)}`;
    return (await this.#caller.get(path)) as Collection;
  }
}
