// Two more encrypted stores: a semantic cache for a model's answers, and the long-term memory of a LangGraph agent.
//
// Run: node memory-and-cache.mjs
// Needs: npm install sealdex @langchain/core @langchain/langgraph-checkpoint

import { FakeListChatModel } from "@langchain/core/utils/testing";
import { EncryptedSemanticCache, EncryptedVectorStore, generateKey, SealdexEmbeddings } from "sealdex";
import { EncryptedStore } from "sealdex/langgraph";

const embeddings = new SealdexEmbeddings();
const indexLocation = { location: "memory" };
// In memory, the key may end with the process. For an index that lasts: fileKey("./notes.key", { create: true })
const indexKey = generateKey();

const answers = new EncryptedVectorStore(embeddings, {
  indexName: "answers",
  indexKey,
  indexLocation,
});
const cache = new EncryptedSemanticCache(answers, { scoreThreshold: 0.9, ttlSeconds: 3600 });
// Any chat model takes the cache: new ChatOpenAI({ model: "gpt-5-mini", cache })
const model = new FakeListChatModel({ responses: ["Paris.", "This answer is never asked for."], cache });
console.log((await model.invoke("What is the capital of France?")).content);
console.log((await model.invoke("what is the capital of france")).content);

// With LangGraph: graph.compile({ store: memory })
const memory = new EncryptedStore({
  indexName: "memory",
  indexKey,
  indexLocation,
  index: { dims: 1024, embeddings, fields: ["text"] },
});
await memory.put(["users", "ann", "memories"], "1", { text: "Ann likes pizza.", kind: "food" });
await memory.put(["users", "ann", "memories"], "2", { text: "Ann plays football.", kind: "sport" });
await memory.put(["users", "bob", "memories"], "1", { text: "Bob likes pasta.", kind: "food" });
const [best] = await memory.search(["users", "ann"], { query: "Does Ann like pizza or pasta?", limit: 1 });
console.log(best.value.text, best.score.toFixed(3));
console.log(await memory.listNamespaces({ maxDepth: 2 }));
await memory.stop();
await answers.close();
