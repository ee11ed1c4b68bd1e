/**
 * The folder that `save` of LangChain's HNSWLib writes: `args.json`, `docstore.json`, and hnswlib's
 * index. Its file has a header of 96 bytes and then, per element, the links of level 0, the vector
 * and the label.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "../json-values.js";
import { invalid, type Row, type Source, type SourceDescription } from "../source.js";
import { type Document, type Entries, idsOf, rowOf } from "./docstore.js";
import { FileReader, floatsOf, sizeAt, versionOf } from "./file-reader.js";

const headerBytes = 96;
const chunkElements = 1000;
/** Bit of the third byte of an element, for those that `markDelete` marked. */
const deletedBit = 1;

export class HnswlibSource implements Source {
  readonly name: string;
  readonly #folder: string;

  constructor(folder: string) {
    this.name = `hnswlib:${folder}`;
    this.#folder = folder;
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  async describe(): Promise<SourceDescription> {
    const { space } = await this.#args();
    const entries = parseJson(await readFile(this.#path("docstore.json"), "utf8")) as Entries;
    return {
      rows: entries.length,
      metric: space === "cosine" ? "cosine" : space === "l2" ? "squared_euclidean" : undefined,
      version: await versionOf(this.#path("docstore.json"), this.#path("hnswlib.index")),
    };
  }

  async *rows(after: number = 0): AsyncGenerator<Row, void, undefined> {
    const { numDimensions } = await this.#args();
    const entries = parseJson(await readFile(this.#path("docstore.json"), "utf8")) as Entries;
    const documents = new Map<string, Document>(
      entries.map(([label, document]) => [String(label), document]),
    );
    const ids = idsOf(documents);
    const file = await FileReader.open(this.#path("hnswlib.index"));
    try {
      const header = await file.read(0, headerBytes);
      const [count, elementBytes, labelAt, vectorAt] = [16, 24, 32, 40].map((at) => sizeAt(header, at));
      const fits = labelAt === vectorAt + 4 * numDimensions && labelAt + 8 <= elementBytes;
      if (!fits) throw invalid(`${file.path}: its vectors are not of ${numDimensions} dimensions`);
      if (count < documents.size) throw invalid(`${file.path}: it has fewer vectors than docstore.json`);
      for (let start = after; start < count; start += chunkElements) {
        const elements = Math.min(chunkElements, count - start);
        const chunk = await file.read(headerBytes + start * elementBytes, elements * elementBytes);
        for (let i = 0; i < elements; i++) {
          const at = i * elementBytes;
          const label = String(chunk.readBigUInt64LE(at + labelAt));
          const document = documents.get(label);
          if (document === undefined || (chunk[at + 2] & deletedBit) !== 0) continue;
          const vector = floatsOf(chunk, at + vectorAt, numDimensions);
          yield { ...rowOf(document), id: ids.get(label), vector, cursor: start + i + 1 };
        }
      }
    } finally {
      await file.close();
    }
  }

  async #args(): Promise<{ readonly space: string; readonly numDimensions: number }> {
    const args = parseJson(await readFile(this.#path("args.json"), "utf8")) as {
      readonly space: string;
      readonly numDimensions: number;
    };
    if (!Number.isInteger(args.numDimensions)) throw invalid(`${this.#path("args.json")}: no numDimensions`);
    return args;
  }
}
