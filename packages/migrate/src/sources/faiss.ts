/**
 * The folder that `save` of LangChain's FaissStore writes: `docstore.json` and `faiss.index`, a flat
 * index or one of HNSW, which has a flat one behind its graph.
 */

import { join } from "node:path";
import type { Metric } from "sealdex/core";
import { invalid, type Source } from "../source.js";
import { documentsOf, toEntries } from "./docstore.js";
import { FileReader, floatsOf, readJson, sizeAt, versionOf } from "./file-reader.js";

/** Kind, dimension, count, two unused numbers, whether it is trained, metric. */
const headerBytes = 37;
const chunkVectors = 1000;
/** The vectors of a graph: probabilities (of 8 bytes), counts per level, levels, offsets (of 8), neighbors. */
const graphItemBytes = [8, 4, 4, 8, 4];
/** Entry point, highest level, and three settings. */
const graphEndBytes = 20;

interface Flat {
  readonly dimension: number;
  readonly count: number;
  readonly metric: Metric | undefined;
  /** Position of the first vector. */
  readonly start: number;
}

export function faissSource(folder: string): Source {
  const [docstore, index] = ["docstore.json", "faiss.index"].map((name) => join(folder, name));
  return {
    name: `faiss:${folder}`,
    async describe() {
      const file = await FileReader.open(index);
      try {
        const { count, metric } = await findFlat(file, 0);
        return { rows: count, metric, version: await versionOf(docstore, index) };
      } finally {
        await file.close();
      }
    },
    async *rows(after: number = 0) {
      const stored = await readJson(docstore);
      const [entries, keys] = Array.isArray(stored) ? (stored as readonly unknown[]) : [];
      const documents = documentsOf(toEntries(entries, docstore));
      const mapping = (keys ?? {}) as Readonly<Record<string, string>>;
      const file = await FileReader.open(index);
      try {
        const { dimension, count, start } = await findFlat(file, 0);
        for (let first = after; first < count; first += chunkVectors) {
          const vectors = Math.min(chunkVectors, count - first);
          const chunk = await file.read(start + first * dimension * 4, vectors * dimension * 4);
          for (let i = 0; i < vectors; i++) {
            const document = documents.get(mapping[String(first + i)]);
            if (document === undefined) throw invalid(`${docstore}: no document for vector ${first + i}`);
            const vector = floatsOf(chunk, i * dimension * 4, dimension);
            yield { ...document, vector, cursor: first + i + 1 };
          }
        }
      } finally {
        await file.close();
      }
    },
  };
}

async function findFlat(file: FileReader, position: number): Promise<Flat> {
  const header = await file.read(position, headerBytes + 8);
  const kind = header.toString("latin1", 0, 4);
  if (kind === "IHNf") return findFlat(file, await endOfGraph(file, position + headerBytes));
  if (kind !== "IxF2" && kind !== "IxFI") {
    throw invalid(`${file.path}: expected a flat or HNSW-flat index, got ${JSON.stringify(kind)}`);
  }
  const [dimension, count] = [header.readInt32LE(4), sizeAt(header, 8)];
  if (sizeAt(header, headerBytes) !== dimension * count)
    throw invalid(`${file.path}: its sizes do not agree`);
  const metric = kind === "IxF2" ? "squared_euclidean" : undefined;
  return { dimension, count, metric, start: position + headerBytes + 8 };
}

async function endOfGraph(file: FileReader, position: number): Promise<number> {
  for (const bytes of graphItemBytes) position += 8 + bytes * sizeAt(await file.read(position, 8), 0);
  return position + graphEndBytes;
}
