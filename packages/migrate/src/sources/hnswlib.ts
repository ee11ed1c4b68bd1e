/**
 * The folder that `save` of LangChain's HNSWLib writes: `args.json`, `docstore.json`, and hnswlib's
 * index. Its file has a header of 96 bytes and then, per element, the links of level 0, the vector
 * and the label.
 */

import { join } from "node:path";
import { invalid, type Source } from "../source.js";
import { documentsOf, toEntries } from "./docstore.js";
import { FileReader, floatsOf, readJson, sizeAt, versionOf } from "./file-reader.js";

const headerBytes = 96;
const chunkElements = 1000;
/** Bit of the third byte of an element, for those that `markDelete` marked. */
const deletedBit = 1;

interface Args {
  readonly space: string;
  readonly numDimensions: number;
}

export function hnswlibSource(folder: string): Source {
  const [argsFile, docstore, index] = ["args.json", "docstore.json", "hnswlib.index"].map((name) =>
    join(folder, name),
  );
  const readArgs = async () => ((await readJson(argsFile)) ?? {}) as Partial<Args>;
  const readEntries = async () => toEntries(await readJson(docstore), docstore);
  return {
    name: `hnswlib:${folder}`,
    async describe() {
      const { space } = await readArgs();
      return {
        rows: (await readEntries()).length,
        metric: space === "cosine" ? "cosine" : space === "l2" ? "squared_euclidean" : undefined,
        version: await versionOf(docstore, index),
      };
    },
    async *rows(after: number = 0) {
      const { numDimensions = 0 } = await readArgs();
      const documents = documentsOf(await readEntries());
      const file = await FileReader.open(index);
      try {
        const header = await file.read(0, headerBytes);
        const [count, elementBytes, labelAt, vectorAt] = [16, 24, 32, 40].map((at) => sizeAt(header, at));
        const fits = labelAt === vectorAt + 4 * numDimensions && labelAt + 8 <= elementBytes;
        if (!fits) throw invalid(`${index}: its vectors are not of ${numDimensions} dimensions`);
        if (count < documents.size) throw invalid(`${index}: it has fewer vectors than docstore.json`);
        for (let start = after; start < count; start += chunkElements) {
          const elements = Math.min(chunkElements, count - start);
          const chunk = await file.read(headerBytes + start * elementBytes, elements * elementBytes);
          for (let i = 0; i < elements; i++) {
            const at = i * elementBytes;
            const document = documents.get(String(chunk.readBigUInt64LE(at + labelAt)));
            if (document === undefined || (chunk[at + 2] & deletedBit) !== 0) continue;
            const vector = floatsOf(chunk, at + vectorAt, numDimensions);
            yield { ...document, vector, cursor: start + i + 1 };
          }
        }
      } finally {
        await file.close();
      }
    },
  };
}
