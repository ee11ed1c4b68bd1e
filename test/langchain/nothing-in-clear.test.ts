/** All that an agent keeps, in one place: nothing of it is in any file there. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CacheBackedEmbeddings } from "@langchain/classic/embeddings/cache_backed";
import { ParentDocumentRetriever } from "@langchain/classic/retrievers/parent_document";
import { Document } from "@langchain/core/documents";
import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { RecursiveCharacterTextSplitter } from "@langchain/textsplitters";
import { expect, test } from "vitest";
import {
  EncryptedByteStore,
  EncryptedSemanticCache,
  EncryptedVectorStore,
  generateKey,
  LexicalEmbeddings,
} from "../../src/index.js";
import { EncryptedSaver } from "../../src/langchain/langgraph/encrypted-saver.js";
import { EncryptedStore } from "../../src/langchain/langgraph/encrypted-store.js";
import { newFolder } from "../folder.js";

const word = "canarybird";
/** Also in base64, which depends on the position of the word in its text, and in hexadecimal and UTF-16. */
const forms = [
  Buffer.from(word),
  Buffer.from(word, "utf16le"),
  Buffer.from(Buffer.from(word).toString("hex")),
  ...[0, 1, 2].map((before) => {
    const encoded = Buffer.from(" ".repeat(before) + word).toString("base64");
    return Buffer.from(encoded.slice(before === 0 ? 0 : 4, 4 * Math.floor((before + word.length) / 3)));
  }),
];
const indexKey = generateKey();

test("state, files, parents and caches leave no word of theirs in storage", async () => {
  const path = await newFolder();
  const open = (indexName: string) =>
    ({ indexName, indexKey, indexLocation: { location: "local", path } }) as const;
  const embeddings = new LexicalEmbeddings();

  const saver = new EncryptedSaver(open("canarybird threads"));
  const config = { configurable: { thread_id: "canarybird thread", checkpoint_ns: "" } };
  const state = {
    messages: [new HumanMessage("canarybird message")],
    image: Buffer.from("canarybird image"),
  };
  const put = await saver.put(
    config,
    { ...emptyCheckpoint(), channel_values: state },
    { source: "input", step: 0, parents: {} },
  );
  await saver.putWrites(put, [["canarybird channel", "canarybird write"]], "canarybird task");

  const semantic = { dims: 512, embeddings, fields: ["text"], textIndex: true };
  const files = new EncryptedStore({ ...open("canarybird files"), index: semantic });
  await files.put(["canarybird folder"], "canarybird.txt", { text: "canarybird file".repeat(9000) });
  await files.put(["canarybird folder"], "canarybird.png", { bytes: Buffer.alloc(100_000, "canarybird") });

  const byteStore = new EncryptedByteStore(open("canarybird parents"));
  const vectorstore = new EncryptedVectorStore(embeddings, {
    ...open("canarybird children"),
    textIndex: true,
  });
  const parents = new ParentDocumentRetriever({
    vectorstore,
    byteStore,
    childSplitter: new RecursiveCharacterTextSplitter({ chunkSize: 100, chunkOverlap: 0 }),
  });
  await parents.addDocuments([
    new Document({
      pageContent: "canarybird parent. ".repeat(40),
      metadata: { canarybird: "canarybird value" },
    }),
  ]);
  const cached = CacheBackedEmbeddings.fromBytesStore(embeddings, byteStore, { namespace: "canarybird" });
  await cached.embedDocuments(["canarybird text"]);
  const answers = new EncryptedSemanticCache(
    new EncryptedVectorStore(embeddings, { ...open("canarybird answers"), metric: "cosine" }),
  );
  await answers.update("canarybird question", "canarybird model", [{ text: "canarybird answer" }]);

  expect((await saver.getTuple(config))?.pendingWrites).toHaveLength(1);
  expect(await files.search(["canarybird folder"], { query: "canarybird" })).toHaveLength(2);
  expect(await parents.invoke("canarybird parent")).toHaveLength(1);
  expect(await answers.lookup("canarybird question", "canarybird model")).toEqual([
    { text: "canarybird answer" },
  ]);
  await saver.deleteThread("canarybird thread");
  await Promise.all([saver.stop(), files.stop(), byteStore.close(), vectorstore.close()]);

  const stored = (await readdir(path, { recursive: true, withFileTypes: true })).filter((file) =>
    file.isFile(),
  );
  expect(stored.length).toBeGreaterThan(20);
  for (const { parentPath, name } of stored) {
    const bytes = await readFile(join(parentPath, name));
    expect(forms.filter((form) => bytes.includes(form)).map(String)).toEqual([]);
  }
});
