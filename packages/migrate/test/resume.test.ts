/** Migrations that are killed. */

import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { appendFile, readFile, rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { vectorOf, Workspace } from "./run-command.js";

const rows = 12_000;
const dimension = 24;
const stateFile = "notes.sealdex-migrate.json";
const killsMin = Number(process.env.SEALDEX_KILLS ?? 6);

async function writeRows(workspace: Workspace, count: number): Promise<void> {
  for (let start = 0; start < count; start += 1000) {
    const lines = Array.from({ length: Math.min(1000, count - start) }, (_, i) => {
      const n = start + i;
      return `${JSON.stringify({ id: `row ${n}`, vector: vectorOf(n, dimension), text: `text ${n}`, n, list: [n, null] })}\n`;
    });
    await appendFile(workspace.path("rows.jsonl"), lines.join(""));
  }
}

test("killed at random times and resumed, it ends with every row and vector", async () => {
  const workspace = await Workspace.create();
  await writeRows(workspace, rows);
  const from = "jsonl:rows.jsonl";
  const cursors: number[] = [];
  for (let kills = 0; kills < killsMin;) {
    const started = workspace.start(from, ["--metric", "cosine"]);
    const ended = once(started, "exit");
    await Promise.race([ended, sleep(200 + Math.random() * 500)]);
    started.kill("SIGKILL");
    const [, signal] = (await ended) as [number | null, string | null];
    // A run that came to its end leaves nothing to resume.
    if (signal === null) cursors.length = 0;
    else kills++;
    if (!existsSync(workspace.path(stateFile))) continue;
    const { cursor } = JSON.parse(await readFile(workspace.path(stateFile), "utf8")) as { cursor: number };
    cursors.push(cursor);
  }
  expect(cursors).toEqual(cursors.toSorted((a, b) => a - b));
  const { code, stdout } = await workspace.run(from, ["--metric", "cosine"]);
  expect(stdout).toContain("Check: all 12,000 ids are in the index.");
  expect(code).toBe(0);
  expect(existsSync(workspace.path(stateFile))).toBe(false);
  const items = await workspace.items();
  expect(Object.keys(items)).toHaveLength(rows);
  for (let n = 0; n < rows; n++) {
    const expected = {
      vector: vectorOf(n, dimension),
      contents: `text ${n}`,
      metadata: { n, list: [n, null] },
    };
    expect(items[`row ${n}`]).toEqual(expected);
  }
});

async function interrupted(): Promise<Workspace> {
  const workspace = await Workspace.create();
  await writeRows(workspace, 3000);
  await appendFile(workspace.path("rows.jsonl"), "{broken\n");
  const { stderr } = await workspace.run("jsonl:rows.jsonl", ["--metric", "cosine"]);
  expect(stderr).toContain("line 3001: expected a JSON object, got invalid JSON");
  expect(existsSync(workspace.path(stateFile))).toBe(true);
  return workspace;
}

test("an index that was deleted since gets every row", async () => {
  const workspace = await interrupted();
  const text = await readFile(workspace.path(stateFile), "utf8");
  await rm(workspace.path("data"), { recursive: true });
  await workspace.writeJson("one.jsonl", { id: "other", vector: vectorOf(1, dimension) });
  await workspace.run("jsonl:one.jsonl", ["--metric", "cosine", "--state", "other.json"]);
  const rowsText = await readFile(workspace.path("rows.jsonl"), "utf8");
  await workspace.writeJson("rows.jsonl", rowsText.replace("{broken\n", ""));
  await workspace.writeJson(stateFile, text);
  const { code, stdout } = await workspace.run("jsonl:rows.jsonl", ["--metric", "cosine"]);
  expect(stdout).toContain("Check: all 3,000 ids are in the index.");
  expect(stdout).toContain("The index holds 1 item besides.");
  expect(code).toBe(0);
});

test("with another field for texts, it starts over", async () => {
  const workspace = await Workspace.create();
  const lines = Array.from({ length: 3001 }, (_, n) =>
    JSON.stringify({ id: `${n}`, vector: [n, 1], title: n < 3000 ? "title" : n, body: "body" }),
  );
  await workspace.writeJson("rows.jsonl", lines.join("\n"));
  const run = (field: string) =>
    workspace.run("jsonl:rows.jsonl", ["--metric", "cosine", "--text-field", field]);
  expect((await run("title")).stderr).toContain("line 3001: title: expected a text");
  expect(existsSync(workspace.path(stateFile))).toBe(true);
  expect((await run("body")).code).toBe(0);
  const texts = Object.values(await workspace.items()).map(({ contents }) => contents);
  expect(new Set(texts)).toEqual(new Set(["body"]));
});

test("a state file that cannot be written ends the copy before most of the rows", async () => {
  const workspace = await Workspace.create();
  await writeRows(workspace, 8000);
  const options = ["--metric", "cosine", "--state", "absent/state.json"];
  const { code, stderr } = await workspace.run("jsonl:rows.jsonl", options);
  expect(stderr).toMatch(/error: ENOENT.*state\.json/);
  expect(code).toBe(1);
  expect(Object.keys(await workspace.items()).length).toBeLessThan(4000);
});

test("the state file holds no key and no text, and belongs to its owner", async () => {
  const workspace = await interrupted();
  const text = await readFile(workspace.path(stateFile), "utf8");
  const key = (await readFile(workspace.path("notes.key"), "utf8")).trim();
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(text).not.toContain(key);
  expect(text).not.toContain("text 1");
  expect(statSync(workspace.path(stateFile)).mode & 0o077).toBe(0);
  expect(statSync(workspace.path("notes.key")).mode & 0o077).toBe(0);
});
