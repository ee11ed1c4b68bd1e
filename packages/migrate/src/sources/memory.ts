/** `JSON.stringify(store.memoryVectors)` of LangChain's MemoryVectorStore, in a file. */

import { readFile } from "node:fs/promises";
import { idText, vectorOf } from "../fields.js";
import { parseJson } from "../json-values.js";
import { invalid, type Row, type Source, type SourceDescription } from "../source.js";
import { versionOf } from "./file-reader.js";

interface MemoryVector {
  readonly id?: unknown;
  readonly content?: string;
  readonly embedding?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export class MemorySource implements Source {
  readonly name: string;
  readonly #path: string;

  constructor(path: string) {
    this.name = `memory:${path}`;
    this.#path = path;
  }

  async describe(): Promise<SourceDescription> {
    const { length } = await this.#vectors();
    return { rows: length, metric: "cosine", version: await versionOf(this.#path) };
  }

  async *rows(after: number = 0): AsyncGenerator<Row, void, undefined> {
    const vectors = await this.#vectors();
    for (let i = after; i < vectors.length; i++) {
      const { id, content, embedding, metadata = {} } = vectors[i];
      yield { id: idText(id), vector: vectorOf(embedding), contents: content, metadata, cursor: i + 1 };
    }
  }

  async #vectors(): Promise<readonly MemoryVector[]> {
    const vectors = parseJson(await readFile(this.#path, "utf8"));
    if (!Array.isArray(vectors)) throw invalid(`${this.#path}: expected the JSON of memoryVectors, a list`);
    return vectors as MemoryVector[];
  }
}
