// An agent that remembers facts, encrypted on disk, and recalls it in later conversations.
//
// Run: node agent.mjs        Needs: npm install sealdex sealdex-ai ai zod

import { stepCountIs, ToolLoopAgent, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createClient, fileKey } from "sealdex/core";
import { recallMiddleware, rememberTool } from "sealdex-ai";

const client = createClient({ indexLocation: { location: "local", path: "./data" } });
const named = { indexName: "memory", indexKey: fileKey("./memory.key", { create: true }) };
const isNew = !(await client.listIndexes()).includes("memory");
const index = isNew
  ? await client.createIndex({ ...named, metric: "cosine", embeddingModel: "default" })
  : await client.loadIndex(named);
console.log(isNew ? "A new memory." : "The memory of an earlier run.");

// Stands for a real model, so that the example needs no network: it remembers statements, and answers a question by repeating
// its prompt.
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const result = { usage: { inputTokens: {}, outputTokens: {} }, warnings: [] };
    const say = (text) => ({
      ...result,
      finishReason: { unified: "stop" },
      content: [{ type: "text", text }],
    });
    const last = prompt.at(-1);
    if (last.role === "tool") return say("Noted.");
    const texts = last.content.map(({ text }) => text);
    if (texts.at(-1).endsWith("?")) return say(texts.join(""));
    const call = { toolCallId: "1", toolName: "remember", input: JSON.stringify({ text: texts.at(-1) }) };
    return { ...result, finishReason: { unified: "tool-calls" }, content: [{ type: "tool-call", ...call }] };
  },
});
const agent = new ToolLoopAgent({
  model: wrapLanguageModel({ model, middleware: recallMiddleware(index, { topK: 1 }) }),
  tools: { remember: rememberTool(index) },
  stopWhen: stepCountIs(3),
});

for (const prompt of [
  "My train to Basel leaves at 7:12.",
  "Bob is allergic to nuts.",
  "When does the train to Basel leave?",
]) {
  const { text } = await agent.generate({ prompt });
  console.log(`> ${prompt}\n${text}\n`);
}
console.log("Memories:", await index.count());
await client[Symbol.asyncDispose]();
