/** Several servers on one index. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { createClient, fileKey } from "sealdex/core";
import { expect, test } from "vitest";
import { call, connectStdio, documentsOf, inStep, statusOf, until, Workspace } from "./start-server.js";

test("two servers create one index at the same time, and each removes only files of its own folder", async () => {
  const one = new Workspace();
  const two = new Workspace();
  for (let i = 0; i < 50; i++) {
    one.write(`${i}.md`, `First folder, note ${i}`);
    two.write(`${i}.md`, `Second folder, note ${i}`);
  }
  const start = (workspace: Workspace) => connectStdio(one.args("--folder", workspace.notes));
  const [first, second] = await Promise.all([start(one), start(two)]);
  await Promise.all([until(first, inStep(100)), until(second, inStep(100))]);
  const { source = "" } = (await statusOf(first)).folder ?? {};
  expect((await statusOf(second)).folder?.source).not.toBe(source);

  for (let i = 0; i < 25; i++) rmSync(join(one.notes, `${i}.md`));
  await until(second, inStep(75));
  expect((await documentsOf(second)).filter((name) => name.startsWith(source))).toHaveLength(25);

  const { text } = await call(first, "remember", { text: "Violets are blue." });
  const [document] = /memory\/\S+/.exec(text) ?? [];
  expect((await call(second, "read", { document })).text).toContain("Violets are blue.");
  await second.close();
  const third = await start(two);
  await until(third, inStep(76));
  for (const client of [first, third]) await client.close();
  one.remove();
  two.remove();
});

test("two servers of one folder, as two clients of a user start them, agree", async () => {
  const workspace = new Workspace();
  for (let i = 0; i < 200; i++) workspace.write(`${i}.md`, `# Note ${i}\n\nSome text about ${i}.`);
  const start = () => connectStdio(workspace.args("--folder", workspace.notes));
  const clients = await Promise.all([start(), start()]);
  for (const client of clients) await until(client, inStep(200));
  for (let i = 0; i < 100; i++) workspace.write(`${i}.md`, `Changed ${i}.`);
  for (let i = 100; i < 150; i++) rmSync(join(workspace.notes, `${i}.md`));
  for (const client of clients) {
    const { passages } = await until(client, inStep(150));
    expect(passages).toBe(150);
    await expect
      .poll(async () => (await call(client, "search", { query: "changed 7", limit: 20 })).text, {
        timeout: 400_000,
      })
      .toContain("Changed 7.");
    expect(new Set(await documentsOf(client)).size).toBe(150);
  }
  for (const client of clients) await client.close();
  workspace.remove();
});

test("a server whose index is deleted uses the one that another server then makes", async () => {
  const workspace = new Workspace();
  const first = await connectStdio(workspace.args());
  await call(first, "remember", { text: "Violets are blue." });
  const client = createClient({ indexLocation: { location: "local", path: workspace.location } });
  const [indexName = ""] = await client.listIndexes();
  await client.deleteIndex({ indexName, indexKey: fileKey(workspace.keyFile) });
  await client.close();
  expect(await call(first, "search", { query: "violets" })).toMatchObject({
    isError: true,
    text: expect.stringContaining("no such index") as string,
  });

  const second = await connectStdio(workspace.args());
  await call(second, "remember", { text: "Roses are red." });
  const found = await Promise.all(
    ["roses", "violets"].map(async (query) => (await call(first, "search", { query })).text),
  );
  for (const text of found) expect(text).toContain("Roses are red.");
  expect(found.join()).not.toContain("Violets");
  for (const server of [first, second]) await server.close();
  workspace.remove();
});
