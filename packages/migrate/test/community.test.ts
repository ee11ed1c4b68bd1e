/** Folders that the stores of @langchain/community save. */

import { writeFileSync } from "node:fs";
import { FaissStore } from "@langchain/community/vectorstores/faiss";
import { HNSWLib } from "@langchain/community/vectorstores/hnswlib";
import { Document } from "@langchain/core/documents";
import { SealdexEmbeddings } from "sealdex";
import { expect, test } from "vitest";
import { Workspace } from "./run-command.js";

const texts = ["Keys are rotated every year.", "Salmon swim upstream.", "Herons hunt in rivers."];
const documents = texts.map(
  (pageContent, i) => new Document({ pageContent, metadata: { page: i, tags: ["a"], loc: { lines: i } } }),
);
const embeddings = new SealdexEmbeddings();
const vectors = await embeddings.embedDocuments(texts);

/** A flat index of FAISS as far as `FaissStore` needs one to save: faiss-node does not install from the registry alone. */
class FlatIndex {
  readonly #rows: number[][] = [];

  getDimension(): number {
    return vectors[0].length;
  }

  ntotal(): number {
    return this.#rows.length;
  }

  add(vector: number[]): void {
    this.#rows.push(vector);
  }

  write(file: string): void {
    const count = BigInt(this.#rows.length);
    const header = Buffer.alloc(45);
    header.write("IxF2", "latin1");
    header.writeInt32LE(this.getDimension(), 4);
    header.writeBigInt64LE(count, 8);
    header.writeBigInt64LE(1n << 20n, 16);
    header.writeBigInt64LE(1n << 20n, 24);
    header.writeUInt8(1, 32);
    header.writeInt32LE(1, 33);
    header.writeBigInt64LE(count * BigInt(this.getDimension()), 37);
    writeFileSync(file, Buffer.concat([header, Buffer.from(Float32Array.from(this.#rows.flat()).buffer)]));
  }
}

test.each([
  // hnswlib normalizes what it stores; the file of FAISS has the very numbers.
  [
    "hnswlib",
    1e-7,
    async (folder: string) => (await HNSWLib.fromDocuments(documents, embeddings)).save(folder),
  ],
  [
    "faiss",
    0,
    async (folder: string) => {
      const store = new FaissStore(embeddings, { index: new FlatIndex() as never });
      await store.addDocuments(documents);
      await store.save(folder);
    },
  ],
] as const)("what %s of @langchain/community saved is moved as it was", async (kind, differenceMax, save) => {
  const workspace = await Workspace.create();
  await save(workspace.path("old"));
  expect((await workspace.run(`${kind}:old`, ["--metric", "cosine"])).code).toBe(0);
  const items = Object.values(await workspace.items());
  const moved = documents.map(({ pageContent }) => items.find(({ contents }) => contents === pageContent));
  expect(moved.map((item) => item?.metadata)).toEqual(documents.map(({ metadata }) => metadata));
  for (const [i, item] of moved.entries()) {
    const differences = vectors[i].map((x, j) => Math.abs(Math.fround(x) - (item?.vector[j] ?? Number.NaN)));
    expect(Math.max(...differences)).toBeLessThanOrEqual(differenceMax);
  }
});
