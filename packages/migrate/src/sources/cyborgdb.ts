/** A service that the published `cyborgdb` clients talk to. */

import { readFile } from "node:fs/promises";
import type { Metric } from "sealdex/core";
import { JsonCaller } from "../call-json.js";
import { type Cursor, invalid, type Source } from "../source.js";

const pageRows = 500;
const metrics: readonly Metric[] = ["cosine", "euclidean", "squared_euclidean"];

interface Description {
  readonly metric?: string;
  readonly index_config?: { readonly metric?: string };
}

interface Item {
  readonly id: string;
  readonly vector?: readonly number[];
  readonly contents?: string | null;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}

/** `http://host:8000/index` */
export function cyborgdbSource(url: URL, keyFile: string | undefined, apiKey: string | undefined): Source {
  const index = decodeURIComponent(url.pathname.slice(1));
  if (index === "") throw invalid("cyborgdb: expected http://host/index");
  if (keyFile === undefined) throw invalid("--from-key-file: expected a file with the key of the old index");
  const caller = new JsonCaller(url.origin, apiKey ? { "X-API-Key": apiKey } : {});
  const call = async (path: string, body: object = {}) => {
    const key = (await readFile(keyFile, "utf8")).trim();
    return caller.post(`/v1/${path}`, { index_name: index, index_key: key, ...body }, key);
  };
  const listIds = async () => ((await call("vectors/list_ids")) as { readonly ids: string[] }).ids.sort();
  return {
    name: `cyborgdb:${url.origin}/${index}`,
    async describe() {
      const { metric, index_config: config } = (await call("indexes/describe")) as Description;
      const known = metrics.find((each) => each === (metric ?? config?.metric));
      return { rows: (await listIds()).length, metric: known, version: "" };
    },
    /** The cursor is the last id, in the order of ids. */
    async *rows(after?: Cursor) {
      const ids = (await listIds()).filter((id) => after === undefined || id > String(after));
      for (let start = 0; start < ids.length; start += pageRows) {
        const include = ["vector", "contents", "metadata"];
        const body = { ids: ids.slice(start, start + pageRows), include };
        const { results } = (await call("vectors/get", body)) as { readonly results: readonly Item[] };
        for (const { id, vector, contents, metadata } of results) {
          // LangChain's CyborgVectorStore keeps the text there.
          const { _content: kept, ...others } = metadata ?? {};
          const isText = typeof kept === "string" && !contents;
          yield {
            id,
            vector,
            contents: isText ? kept : (contents ?? undefined),
            metadata: isText ? others : (metadata ?? {}),
            cursor: id,
          };
        }
      }
    },
  };
}
