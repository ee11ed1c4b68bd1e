/** A collection of a Chroma server, through version 2 of its interface. */

import type { Metric } from "sealdex/core";
import { JsonCaller } from "../call-json.js";
import { invalid, type Source } from "../source.js";

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

/** `http://host:8000/collection?tenant=…&database=…` */
export function chromaSource(url: URL, apiKey: string | undefined): Source {
  const name = url.pathname.slice(1);
  if (name === "" || name.includes("/")) throw invalid("chroma: expected http://host/collection");
  const { tenant = "default_tenant", database = "default_database" } = Object.fromEntries(url.searchParams);
  const [tenantPath, databasePath] = [tenant, database].map(encodeURIComponent);
  const collections = `/api/v2/tenants/${tenantPath}/databases/${databasePath}/collections`;
  const caller = new JsonCaller(url.origin, apiKey ? { "x-chroma-token": apiKey } : {});
  const find = async () => (await caller.get(`${collections}/${name}`)) as Collection;
  return {
    name: `chroma:${url.origin}/${name} (${tenant}/${database})`,
    async describe() {
      const { id, configuration_json: { hnsw, spann } = {}, metadata } = await find();
      const rows = (await caller.get(`${collections}/${id}/count`)) as number;
      const space = hnsw?.space ?? spann?.space ?? metadata?.["hnsw:space"] ?? "l2";
      return { rows, metric: metrics[String(space)], version: id };
    },
    /** The cursor is the number of rows before it: Chroma lists by the order of insertion. */
    async *rows(after: number = 0) {
      const { id } = await find();
      const include = ["embeddings", "documents", "metadatas"];
      for (let offset = after; ;) {
        const body = { include, limit: pageRows, offset };
        const page = (await caller.post(`${collections}/${id}/get`, body)) as Page;
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
    },
  };
}
