/** Opens the source that `--from` names. */

import type { FieldNames } from "../fields.js";
import { invalid, type Source } from "../source.js";

export interface SourceOptions {
  readonly from: string;
  readonly fields: FieldNames;
  /** The key of the old index, of a `cyborgdb` service. */
  readonly keyFile?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type Open = (rest: string, options: SourceOptions) => Promise<Source>;

/** Each source is loaded when it is used. */
const kinds: Readonly<Record<string, Open>> = {
  hnswlib: async (path) => new (await import("./hnswlib.js")).HnswlibSource(path),
  faiss: async (path) => new (await import("./faiss.js")).FaissSource(path),
  memory: async (path) => new (await import("./memory.js")).MemorySource(path),
  jsonl: async (path, { fields }) => new (await import("./jsonl.js")).JsonlSource(path, fields),
  parquet: async (path, { fields }) => new (await import("./parquet.js")).ParquetSource(path, fields),
  lancedb: async (path, { fields }) => new (await import("./lancedb.js")).LancedbSource(path, fields),
  pgvector: async (url, { fields }) => new (await import("./pgvector.js")).PgvectorSource(urlOf(url), fields),
  chroma: async (url, { environment }) =>
    new (await import("./chroma.js")).ChromaSource(urlOf(url), environment.CHROMA_API_KEY),
  qdrant: async (url, { fields, environment }) =>
    new (await import("./qdrant.js")).QdrantSource(urlOf(url), fields, environment.QDRANT_API_KEY),
  pinecone: async (url, { fields, environment }) =>
    new (await import("./pinecone.js")).PineconeSource(urlOf(url), fields, environment.PINECONE_API_KEY),
  cyborgdb: async (url, { keyFile, environment }) =>
    new (await import("./cyborgdb.js")).CyborgdbSource(urlOf(url), keyFile, environment.CYBORGDB_API_KEY),
};

/** `hnswlib:./folder`, `chroma:http://host:8000/collection`, … */
export async function openSource(options: SourceOptions): Promise<Source> {
  const [, kind = "", rest = ""] = /^([a-z]+):(.+)$/s.exec(options.from) ?? [];
  if (!Object.hasOwn(kinds, kind)) {
    throw invalid(`--from: expected ${Object.keys(kinds).join(":, ")}: and where it is`);
  }
  return kinds[kind](rest, options);
}

/** The URL may hold a password, so the message does not repeat it. */
function urlOf(text: string): URL {
  if (!URL.canParse(text)) throw invalid("--from: expected a URL behind the kind");
  return new URL(text);
}
