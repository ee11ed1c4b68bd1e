/**
 * The standard tests for vector stores of LangChain's Python side (`VectorStoreIntegrationTests` of
 * `langchain_tests.integration_tests`), for JavaScript: the duties of any store, in the same order.
 */

import { createHash } from "node:crypto";
import { Document } from "@langchain/core/documents";
import { Embeddings } from "@langchain/core/embeddings";
import type { VectorStore } from "@langchain/core/vectorstores";
import { describe, expect, test } from "vitest";

/** A vector store with the methods that LangChain's base class has in Python and not in JavaScript. */
export type StandardStore = VectorStore & {
  getByIds(ids: readonly string[]): Promise<Document[]>;
};

/** Gaussian vectors seeded by the text: the same for the same text, and for no other. */
export class DeterministicFakeEmbedding extends Embeddings {
  readonly size: number;
  constructor(size: number) {
    super({});
    this.size = size;
  }
  async embedQuery(text: string): Promise<number[]> {
    return Array.from({ length: this.size }, (_, i) => {
      const digest = createHash("sha256").update(`${i} ${text}`).digest();
      const [a, b] = [digest.readUInt32LE(0), digest.readUInt32LE(4)].map((word) => (word + 0.5) / 2 ** 32);
      return Math.sqrt(-2 * Math.log(a)) * Math.cos(2 * Math.PI * b);
    });
  }
  async embedDocuments(texts: string[]): Promise<number[][]> {
    return Promise.all(texts.map((text) => this.embedQuery(text)));
  }
}

/** `newStore` gives an empty store each time. */
export function standardTests(
  name: string,
  newStore: (embeddings: Embeddings) => StandardStore | Promise<StandardStore>,
): void {
  const embeddings = new DeterministicFakeEmbedding(8);
  const documents = (...texts: string[]) =>
    texts.map((pageContent, i) => new Document({ pageContent, metadata: { id: i + 1 } }));
  const withId = (document: Document, id: string) => new Document({ ...document, id });

  describe(`standard tests: ${name}`, () => {
    test("a new store is empty", async () => {
      expect(await (await newStore(embeddings)).similaritySearch("foo", 1)).toEqual([]);
    });

    test("adds documents and finds them, nearest first, leaving the originals alone", async () => {
      const store = await newStore(embeddings);
      const originals = documents("foo", "bar");
      const ids = (await store.addDocuments(originals)) as string[];
      expect(await store.similaritySearch("bar", 2)).toEqual([
        withId(originals[1], ids[1]),
        withId(originals[0], ids[0]),
      ]);
      expect(originals).toEqual(documents("foo", "bar"));
    });

    test("the next store is empty again", async () => {
      expect(await (await newStore(embeddings)).similaritySearch("foo", 1)).toEqual([]);
    });

    test("deletes a document", async () => {
      const store = await newStore(embeddings);
      const originals = documents("foo", "bar");
      expect(await store.addDocuments(originals, { ids: ["1", "2"] })).toEqual(["1", "2"]);
      await store.delete({ ids: ["1"] });
      expect(await store.similaritySearch("foo", 1)).toEqual([withId(originals[1], "2")]);
    });

    test("deletes several documents", async () => {
      const store = await newStore(embeddings);
      const originals = documents("foo", "bar", "baz");
      await store.addDocuments(originals, { ids: ["1", "2", "3"] });
      await store.delete({ ids: ["1", "2"] });
      expect(await store.similaritySearch("foo", 1)).toEqual([withId(originals[2], "3")]);
    });

    test("deleting missing documents is fine", async () => {
      const store = await newStore(embeddings);
      await store.delete({ ids: ["1"] });
      await store.delete({ ids: ["1", "2", "3"] });
    });

    test("adding documents with the same ids twice stores them once", async () => {
      const store = await newStore(embeddings);
      const originals = documents("foo", "bar");
      for (let i = 0; i < 2; i++) {
        expect(await store.addDocuments(originals, { ids: ["1", "2"] })).toEqual(["1", "2"]);
      }
      expect(await store.similaritySearch("bar", 10)).toEqual([
        withId(originals[1], "2"),
        withId(originals[0], "1"),
      ]);
    });

    test("adding an id with another text replaces text, metadata and vector", async () => {
      const store = await newStore(embeddings);
      const originals = documents("foo", "bar");
      await store.addDocuments(originals, { ids: ["1", "2"] });
      const changed = new Document({ pageContent: "new foo", metadata: { changed: true } });
      await store.addDocuments([changed], { ids: ["1"] });
      expect(await store.similaritySearch("new foo", 10)).toEqual([
        withId(changed, "1"),
        withId(originals[1], "2"),
      ]);
    });

    test("gets documents by id, in the order asked for", async () => {
      const store = await newStore(embeddings);
      const originals = documents("foo", "bar");
      await store.addDocuments(originals, { ids: ["1", "2"] });
      expect(await store.getByIds(["2", "1"])).toEqual([
        withId(originals[1], "2"),
        withId(originals[0], "1"),
      ]);
    });

    test("getting missing documents gives nothing", async () => {
      expect(await (await newStore(embeddings)).getByIds(["1", "2", "3"])).toEqual([]);
    });

    test("gives documents ids of its own, under which they can be got", async () => {
      const store = await newStore(embeddings);
      const originals = documents("foo", "bar");
      const ids = (await store.addDocuments(originals)) as string[];
      expect(await store.getByIds(ids)).toEqual(originals.map((document, i) => withId(document, ids[i])));
    });

    test("honors the ids that documents have", async () => {
      const store = await newStore(embeddings);
      const [foo, bar] = documents("foo", "bar");
      const ids = (await store.addDocuments([withId(foo, "foo"), bar])) as string[];
      expect(ids[0]).toBe("foo");
      expect(await store.getByIds(ids)).toEqual([withId(foo, "foo"), withId(bar, ids[1])]);
    });

    test("searches with scores, higher for nearer", async () => {
      const store = await newStore(embeddings);
      await store.addDocuments(documents("foo", "bar", "baz"));
      const found = await store.similaritySearchWithScore("foo", 3);
      expect(found[0][0].pageContent).toBe("foo");
      const scores = found.map(([, score]) => score);
      expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    });
  });
}
