// The indexing API: keeps the store in step with a source of documents, and embeds only what changed.
//
// Run: node indexing.mjs        Needs: npm install sealdex @langchain/core

import { Document } from "@langchain/core/documents";
import { index, RecordManager } from "@langchain/core/indexing";
import { EncryptedVectorStore, generateKey, SealdexEmbeddings } from "sealdex";

// What index() remembers of earlier runs. In production: PostgresRecordManager of @langchain/community.
class MemoryRecordManager extends RecordManager {
  lc_namespace = ["example"];
  records = new Map();
  now = 0;
  async createSchema() {}
  async getTime() {
    return ++this.now;
  }
  async update(keys, { groupIds = [] } = {}) {
    keys.forEach((key, i) => this.records.set(key, { at: ++this.now, group: groupIds[i] }));
  }
  async exists(keys) {
    return keys.map((key) => this.records.has(key));
  }
  async listKeys({ before = Infinity, after = 0, groupIds, limit } = {}) {
    const fits = ([, { at, group }]) => at < before && at > after && (!groupIds || groupIds.includes(group));
    return [...this.records]
      .filter(fits)
      .slice(0, limit)
      .map(([key]) => key);
  }
  async deleteKeys(keys) {
    for (const key of keys) this.records.delete(key);
  }
}

// In memory, the key may end with the process. For an index that lasts: fileKey("./notes.key", { create: true })
const indexKey = generateKey();
const vectorStore = new EncryptedVectorStore(new SealdexEmbeddings(), {
  indexName: "pages",
  indexKey,
  indexLocation: { location: "memory" },
});
const recordManager = new MemoryRecordManager();
const page = (source, pageContent) => new Document({ pageContent, metadata: { source } });
const synchronise = (docsSource) =>
  index({ docsSource, recordManager, vectorStore, options: { cleanup: "full", sourceIdKey: "source" } });

console.log(await synchronise([page("a.md", "Keys are rotated."), page("b.md", "Salmon swim.")]));
console.log(await synchronise([page("a.md", "Keys are rotated."), page("b.md", "Salmon swim upstream.")]));
console.log(await synchronise([page("b.md", "Salmon swim upstream.")]));
console.log((await vectorStore.similaritySearch("anything")).map(({ pageContent }) => pageContent));
await vectorStore.close();
