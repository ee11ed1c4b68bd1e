/** `JSON.stringify(store.memoryVectors)` of LangChain's MemoryVectorStore, in a file. */

import { idText, vectorOf } from "../fields.js";
import { invalid, type Source } from "../source.js";
import { readJson, versionOf } from "./file-reader.js";

interface MemoryVector {
  readonly id?: unknown;
  readonly content?: string;
  readonly embedding?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export function memorySource(path: string): Source {
  const read = async () => {
    const vectors = await readJson(path, "write each of memoryVectors as a line, for jsonl:");
    const isList =
      Array.isArray(vectors) && vectors.every((each) => typeof each === "object" && each !== null);
    if (!isList) throw invalid(`${path}: expected the JSON of memoryVectors, a list of objects`);
    return vectors as MemoryVector[];
  };
  return {
    name: `memory:${path}`,
    describe: async () => ({
      rows: (await read()).length,
      metric: "cosine",
      version: await versionOf(path),
    }),
    async *rows(after: number = 0) {
      for (const [i, { id, content, embedding, metadata = {} }] of (await read()).entries()) {
        if (i < after) continue;
        yield { id: idText(id), vector: vectorOf(embedding), contents: content, metadata, cursor: i + 1 };
      }
    },
  };
}
