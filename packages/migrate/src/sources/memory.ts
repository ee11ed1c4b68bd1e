/** `JSON.stringify(store.memoryVectors)` of LangChain's MemoryVectorStore, in a file. */

import { readFile } from "node:fs/promises";
import { idText, vectorOf } from "../fields.js";
import { parseJson } from "../json-values.js";
import { invalid, type Source } from "../source.js";
import { versionOf } from "./file-reader.js";

interface MemoryVector {
  readonly id?: unknown;
  readonly content?: string;
  readonly embedding?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export function memorySource(path: string): Source {
  const read = async () => {
    const text = await readFile(path, "utf8").catch((error: Error) => {
      // Longer than a string, or than a read.
      if (error.name !== "RangeError") throw error;
      throw invalid(
        `${path}: too long to be read at once; write each of memoryVectors as a line, for jsonl:`,
      );
    });
    const vectors = parseJson(text);
    if (!Array.isArray(vectors)) throw invalid(`${path}: expected the JSON of memoryVectors, a list`);
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
