// node agents.mjs begin|resume
// Two agents that wait for an approval, and a process that gives it: see scripts/check-agents.mjs.

import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { createDeepAgent, StoreBackend } from "deepagents";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { fileKey } from "sealdex";
import { EncryptedSaver, EncryptedStore } from "sealdex/langgraph";
import { z } from "zod";

/** A model that calls tools in the order of a script. */
class Scripted extends BaseChatModel {
  #calls;

  constructor(calls) {
    super({});
    this.#calls = calls;
  }

  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const done = messages.filter((message) => message.getType() === "tool").length;
    const call = this.#calls[done];
    const message =
      call === undefined
        ? new AIMessage(`done after ${done}`)
        : new AIMessage({ content: "", tool_calls: [{ ...call, id: `call ${done}`, type: "tool_call" }] });
    return { generations: [{ text: "", message }] };
  }
}

const isBeginning = process.argv[2] === "begin";
const place = {
  indexKey: fileKey("./agents.key", { create: true }),
  indexLocation: { location: "local", path: "./data" },
};
const checkpointer = new EncryptedSaver({ indexName: "threads", ...place });
const store = new EncryptedStore({ indexName: "files", ...place });
const send = tool(({ to }) => `sent to ${to}`, {
  name: "send",
  description: "Sends a letter.",
  schema: z.object({ to: z.string() }),
});
const content = "canary line of a large file\n".repeat(40_000);
const url = `data:image/png;base64,${Buffer.alloc(1_000_000, 7).toString("base64")}`;
const approval = new Command({ resume: { decisions: [{ type: "approve" }] } });

const agent = createAgent({
  model: new Scripted([{ name: "send", args: { to: "canary" } }]),
  tools: [send],
  checkpointer,
  middleware: [humanInTheLoopMiddleware({ interruptOn: { send: true } })],
});
const deep = createDeepAgent({
  model: new Scripted([
    { name: "write_file", args: { file_path: "/large.txt", content } },
    { name: "send", args: { to: "canary" } },
  ]),
  tools: [send],
  checkpointer,
  store,
  interruptOn: { send: true },
  backend: (context) => new StoreBackend(context, { namespace: ["files"] }),
});

const question = new HumanMessage({
  content: [
    { type: "text", text: "canary" },
    { type: "image_url", image_url: { url } },
  ],
});
for (const [threadId, one, calls] of [
  ["agent", agent, 1],
  ["deep agent", deep, 2],
]) {
  const config = { configurable: { thread_id: threadId } };
  if (isBeginning) {
    const { __interrupt__: interrupts } = await one.invoke({ messages: [question] }, config);
    strictEqual(interrupts.length, 1);
    continue;
  }
  const { messages } = await one.invoke(approval, config);
  deepStrictEqual(
    messages.slice(-2).map((message) => message.content),
    ["sent to canary", `done after ${calls}`],
  );
  strictEqual(messages[0].content[1].image_url.url, url);
  let steps = 0;
  for await (const { checkpoint } of checkpointer.list(config)) steps += checkpoint.id === "" ? 0 : 1;
  ok(steps > 4);
  await checkpointer.deleteThread(threadId);
  strictEqual(await checkpointer.getTuple(config), undefined);
}
if (!isBeginning) {
  const [{ key, value }] = await store.search(["files"]);
  strictEqual(key, "/large.txt");
  ok(JSON.stringify(value).length > content.length);
}
await Promise.all([checkpointer.stop(), store.stop()]);
