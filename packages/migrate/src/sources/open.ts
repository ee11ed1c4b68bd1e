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
  hnswlib: async (path) => (await import("./hnswlib.js")).hnswlibSource(path),
  faiss: async (path) => (await import("./faiss.js")).faissSource(path),
  memory: async (path) => (await import("./memory.js")).memorySource(path),
  jsonl: async (path, { fields }) => (await import("./jsonl.js")).jsonlSource(path, fields),
  parquet: async (path, { fields }) => (await import("./parquet.js")).parquetSource(path, fields),
  lancedb: async (path, { fields }) => (await import("./lancedb.js")).lancedbSource(path, fields),
  pgvector: async (url, { fields }) => (await import("./pgvector.js")).pgvectorSource(urlOf(url), fields),
  chroma: async (url, { environment }) =>
    (await import("./chroma.js")).chromaSource(urlOf(url), environment.CHROMA_API_KEY),
  qdrant: async (url, { fields, environment }) =>
    (await import("./qdrant.js")).qdrantSource(urlOf(url), fields, environment.QDRANT_API_KEY),
  pinecone: async (url, { fields, environment }) =>
    (await import("./pinecone.js")).pineconeSource(urlOf(url), fields, environment.PINECONE_API_KEY),
  cyborgdb: async (url, { keyFile, environment }) =>
    (await import("./cyborgdb.js")).cyborgdbSource(urlOf(url), keyFile, environment.CYBORGDB_API_KEY),
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
