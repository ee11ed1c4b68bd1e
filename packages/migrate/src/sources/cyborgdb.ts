/** A service that the published `cyborgdb` clients talk to. */

import { readFile } from "node:fs/promises";
import type { Metric } from "sealdex/core";
import { JsonCaller } from "../call-json.js";
import { invalid, type Cursor, type Row, type Source, type SourceDescription } from "../source.js";

const pageRows = 500;
const metrics: readonly Metric[] = ["cosine", "euclidean", "squared_euclidean"];

interface Item {
  readonly id: string;
  readonly vector?: readonly number[];
  readonly contents?: string | null;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}

export class CyborgdbSource implements Source {
  readonly name: string;
  readonly #index: string;
  readonly #keyFile: string;
  readonly #caller: JsonCaller;

  /** `http://host:8000/index` */
  constructor(url: URL, keyFile: string | undefined, apiKey: string | undefined) {
    this.#index = decodeURIComponent(url.pathname.slice(1));
    if (this.#index === "") throw invalid("cyborgdb: expected http://host/index");
    if (keyFile === undefined)
      throw invalid("--from-key-file: expected a file with the key of the old index");
    this.name = `cyborgdb:${url.origin}/${this.#index}`;
    this.#keyFile = keyFile;
    this.#caller = new JsonCaller(url.origin, apiKey ? { "X-API-Key": apiKey } : {});
  }

  async describe(): Promise<SourceDescription> {
    const description = (await this.#call("indexes/describe")) as {
      readonly metric?: Metric;
      readonly index_config?: { readonly metric?: Metric };
    };
    const metric = description.metric ?? description.index_config?.metric;
    return {
      rows: (await this.#ids()).length,
      metric: metrics.find((each) => each === metric),
      version: "",
    };
  }

  /** The cursor is the last id, in the order of ids. */
  async *rows(after?: Cursor): AsyncGenerator<Row, void, undefined> {
    const ids = (await this.#ids()).filter((id) => after === undefined || id > String(after));
    for (let start = 0; start < ids.length; start += pageRows) {
      const include = ["vector", "contents", "metadata"];
      const body = { ids: ids.slice(start, start + pageRows), include };
      const { results } = (await this.#call("vectors/get", body)) as { readonly results: readonly Item[] };
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
  }

  async #ids(): Promise<readonly string[]> {
    const { ids } = (await this.#call("vectors/list_ids")) as { readonly ids: string[] };
    return ids.sort();
  }

  async #call(path: string, body: object = {}): Promise<unknown> {
    const key = (await readFile(this.#keyFile, "utf8")).trim();
    return this.#caller.post(`/v1/${path}`, { index_name: this.#index, index_key: key, ...body });
  }
}
