import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@mastra/core/agent";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { generateKey } from "sealdex/core";
import { expect, onTestFinished, test } from "vitest";
import { SealdexVector } from "../src/index.js";
import { embedder, model } from "./mock-models.js";

/** An agent whose messages and vectors are on disk; nothing of an earlier one is in memory. */
function openAgent(folder: string, indexKey: string) {
  const vector = new SealdexVector({
    id: "sealdex",
    indexKey,
    indexLocation: { location: "local", path: join(folder, "vectors") },
  });
  const storage = new LibSQLStore({ id: "messages", url: `file:${join(folder, "messages.db")}` });
  const memory = new Memory({
    storage,
    vector,
    embedder,
    options: { lastMessages: 1, semanticRecall: { topK: 1, messageRange: 1, scope: "resource" } },
  });
  const agent = new Agent({ id: "notes", name: "notes", instructions: "Be brief.", model, memory });
  return { agent, vector, memory };
}

test("an agent recalls by meaning in another thread, after it was opened again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sealdex-mastra-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const indexKey = generateKey();
  const first = openAgent(folder, indexKey);
  const told = { thread: "monday", resource: "ann" };
  await first.agent.generate("My train leaves at 7:12.", { memory: told });
  await first.agent.generate("Bob is allergic to nuts.", { memory: { ...told, thread: "tuesday" } });
  await first.vector.close();

  const { agent, vector, memory } = openAgent(folder, indexKey);
  onTestFinished(() => vector.close());
  const ask = async (resource: string) => {
    const asked = { thread: `${resource}-friday`, resource };
    return (await agent.generate("When does the train leave?", { memory: asked })).text;
  };
  expect(await ask("ann")).toContain("My train leaves at 7:12.");
  expect(await ask("bob")).not.toContain("7:12");
  const [indexName = ""] = await vector.listIndexes();
  expect(indexName).toMatch(/^memory_messages/);
  const { count } = await vector.describeIndex({ indexName });
  await memory.deleteThread("monday");
  await expect.poll(async () => (await vector.describeIndex({ indexName })).count).toBeLessThan(count);
});
