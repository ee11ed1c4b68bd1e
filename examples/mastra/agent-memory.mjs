// An agent of Mastra that recalls messages of other conversations by meaning, from encrypted vectors on disk.
//
// Run: node agent-memory.mjs        Needs: npm install sealdex sealdex-mastra @mastra/core @mastra/memory @mastra/libsql

import { Agent } from "@mastra/core/agent";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { fileKey } from "sealdex/core";
import { SealdexVector } from "sealdex-mastra";
import { embed } from "sealdex-model";

const vector = new SealdexVector({
  id: "sealdex",
  indexKey: fileKey("./vectors.key", { create: true }),
  indexLocation: { location: "local", path: "./vectors" },
});

// The model that comes with Sealdex. Any embedder of Mastra works instead.
const embedder = {
  specificationVersion: "v3",
  provider: "sealdex",
  modelId: "default",
  maxEmbeddingsPerCall: 100,
  supportsParallelCalls: true,
  doEmbed: async ({ values }) => ({ embeddings: values.map((text) => [...embed(text)]), warnings: [] }),
};

// Stands for a real model, so that the example needs no network: it repeats the messages that it was reminded of.
const finishReason = { unified: "stop" };
const usage = { inputTokens: {}, outputTokens: {} };
const answer = (prompt) =>
  prompt
    .filter(({ role }) => role === "system")
    .flatMap(({ content }) => content.match(/User: .*?\./g) ?? [])
    .join(" ") || "Noted.";
const model = {
  specificationVersion: "v3",
  provider: "example",
  modelId: "repeats",
  supportedUrls: {},
  doGenerate: async ({ prompt }) => ({
    content: [{ type: "text", text: answer(prompt) }],
    finishReason,
    usage,
    warnings: [],
  }),
  doStream: async ({ prompt }) => ({
    stream: ReadableStream.from([
      { type: "stream-start", warnings: [] },
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: answer(prompt) },
      { type: "text-end", id: "1" },
      { type: "finish", finishReason, usage },
    ]),
  }),
};

const memory = new Memory({
  storage: new LibSQLStore({ id: "messages", url: "file:./messages.db" }),
  vector,
  embedder,
  options: { lastMessages: 1, semanticRecall: { topK: 2, messageRange: 1, scope: "resource" } },
});
const agent = new Agent({ id: "notes", name: "notes", instructions: "Be brief.", model, memory });

for (const [thread, message] of [
  ["monday", "My train to Basel leaves at 7:12."],
  ["tuesday", "Bob is allergic to nuts."],
  ["friday", "When does the train to Basel leave?"],
]) {
  const { text } = await agent.generate(message, { memory: { thread, resource: "ann" } });
  console.log(`> ${message}\n${text}\n`);
}
for (const indexName of await vector.listIndexes())
  console.log(indexName, await vector.describeIndex({ indexName }));
await vector.close();
