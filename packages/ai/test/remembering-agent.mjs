// An agent in a process of its own: `node remembering-agent.mjs FOLDER MESSAGE`. Its mock model remembers a message that begins
// with "My", and answers another with the prompt.

import { stepCountIs, ToolLoopAgent, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createClient, fileKey } from "sealdex/core";
import { recallMiddleware, rememberTool } from "../dist/index.js";

const [, , folder = "", message = ""] = process.argv;
const client = createClient({ indexLocation: { location: "local", path: `${folder}/data` } });
const indexKey = fileKey(`${folder}/memory.key`, { create: true });
const named = { indexName: "memory", indexKey };
const names = await client.listIndexes();
const index = names.includes("memory")
  ? await client.loadIndex(named)
  : await client.createIndex({ ...named, metric: "cosine", embeddingModel: "default" });

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const result = { finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] };
    const last = prompt.at(-1);
    if (last?.role !== "user") return { ...result, content: [{ type: "text", text: "Noted." }] };
    if (!message.startsWith("My")) return { ...result, content: last.content };
    const input = JSON.stringify({ text: message });
    const content = [{ type: "tool-call", toolCallId: "1", toolName: "remember", input }];
    return { ...result, finishReason: { unified: "tool-calls", raw: undefined }, content };
  },
});
const agent = new ToolLoopAgent({
  model: wrapLanguageModel({ model, middleware: recallMiddleware(index) }),
  tools: { remember: rememberTool(index) },
  stopWhen: stepCountIs(3),
});
const { text } = await agent.generate({ prompt: message });
process.stdout.write(text);
await client[Symbol.asyncDispose]();
