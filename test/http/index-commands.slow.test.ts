/** The commands of docs/service.md for indexes, as their users run them. Needs a build. */

import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createClient, fileKey } from "../../src/core.js";

const program = fileURLToPath(new URL("../../packages/server/bin/sealdex-server.js", import.meta.url));
const run = promisify(execFile);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sealdex-index-commands-"));
});
afterEach(() => rm(folder, { recursive: true }));

function command(args: readonly string[], input = "", location = "file:./data") {
  const env = { PATH: process.env.PATH, SEALDEX_INDEX_LOCATION: location };
  const done = run(process.execPath, [program, ...args], { cwd: folder, env });
  done.child.stdin?.end(input);
  return done;
}

/** Makes an index of one item, and its key, with the library: a process takes longer. */
async function newIndex(indexName: string): Promise<void> {
  const client = createClient({ indexLocation: { location: "local", path: join(folder, "data") } });
  const indexKey = fileKey(join(folder, `${indexName}.key`), { create: true });
  await (await client.createIndex({ indexName, indexKey })).upsert([{ id: "a", vector: [1, 2] }]);
  await client.close();
}

test("the commands of the documentation work, one after the other", async () => {
  const page = await readFile(new URL("../../docs/service.md", import.meta.url), "utf8");
  const [, block] = /## Indexes from the command line.*?```sh\n(.*?)```/s.exec(page) ?? [];
  const texts = ["Rotate keys every year.", "Salmon swim upstream.", "Bread rises overnight."];
  const lines = texts.map(
    (text, i) => `${JSON.stringify({ id: `${i}`, pageContent: text, metadata: { i } })}\n`,
  );
  const outputs: Record<string, string> = {};
  for (const line of block.trim().split("\n")) {
    const [, text] = /^sealdex-server (.*?)(?: < articles.jsonl)?$/.exec(line) ?? [];
    const args = text.split(" ");
    const { stdout } = await command(args, line.includes(" < ") ? lines.join("") : "");
    outputs[args.slice(0, 2).join(" ")] = stdout;
    if (args[1] === "create") expect((await stat(join(folder, "articles.key"))).mode & 0o777).toBe(0o600);
  }
  expect(outputs).toMatchObject({
    "index create": "Created articles.\n",
    "import --index": "Imported 3 items (3 lines).\n",
    "index train": expect.stringMatching(/^Trained articles: \d+ lists?\.\n$/),
    "index list": "articles\n",
    "wraps add": "reporting opens articles (read-only) with the key in reporting.key.\n",
    "wraps revoke": "reporting no longer opens articles.\n",
    "index copy": "Copied articles.\n",
    "index rotate-key": "articles opens with the key in new.key.\n",
    "index delete": "Deleted articles.\n",
  });
  const described = JSON.parse(outputs["index describe"]) as object;
  expect(described).toMatchObject({
    indexName: "articles",
    items: 3,
    trained: true,
    embeddingModel: expect.any(String),
  });
  const [owner, reporting] = outputs["wraps list"]
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect(owner).toMatchObject({ name: "owner", access: "owner" });
  expect(reporting).toMatchObject({ name: "reporting", access: "read-only", expiresAt: expect.any(String) });
  // The backup has the key of the time.
  const backup = await command(
    ["export", "--index", "articles", "--key-file", "articles.key"],
    "",
    "file:./backup",
  );
  expect(backup.stdout.trim().split("\n")).toHaveLength(3);
  const keys = await Promise.all(
    ["articles", "new", "reporting"].map((name) => readFile(join(folder, `${name}.key`), "utf8")),
  );
  for (const key of keys) expect(JSON.stringify(outputs)).not.toContain(key.trim());
});

test("the commands work on a collection", async () => {
  const key = ["--key-file", "c.key"];
  await command(["index", "create", "notes", ...key, "--shards", "3"]);
  const lines = Array.from({ length: 20 }, (_, i) => `{"id":"${i}","vector":[${i},1]}\n`);
  const imported = await command(["import", "--index", "notes", ...key], lines.join(""));
  expect(imported.stdout).toBe("Imported 20 items (20 lines).\n");
  await command(["index", "train", "notes", ...key, "--lists", "1"]);
  const { stdout } = await command(["index", "describe", "notes", ...key]);
  expect(JSON.parse(stdout)).toMatchObject({ items: 20, shards: 3, trained: true });
  const split = await command(["index", "split", "notes", ...key, "--shards", "5"]);
  expect(split.stdout).toBe("notes has 5 shards.\n");
  const exported = await command(["export", "--index", "notes", ...key]);
  expect(exported.stdout.trim().split("\n")).toHaveLength(20);
  expect((await command(["index", "delete", "notes", ...key, "--yes"])).stdout).toBe("Deleted notes.\n");
  expect((await command(["index", "list"])).stdout).toBe("");
});

test("import makes an index and its key, from lines of another store", async () => {
  const args = ["import", "--create", "--index", "moved", "--key-file", "moved.key", "--metric", "cosine"];
  const imported = await command(args, '{"_id":"a","values":[1,0],"text":"first"}\n{"embedding":[0,1]}\n');
  expect(imported).toMatchObject({
    stdout: "Imported 2 items (2 lines).\n",
    stderr: "Wrote a new key to moved.key. Keep a copy: nothing can replace it.\n",
  });
  expect((await command(args, '{"id":"b","vector":[1,1]}\n')).stderr).toBe("");
  const { stdout } = await command(["index", "describe", "moved", "--key-file", "moved.key"]);
  expect(JSON.parse(stdout)).toMatchObject({ items: 3, metric: "cosine", dimension: 2 });
  for (const [other, message] of [
    [["--metric", "euclidean"], "--metric: expected cosine, as in the existing index, got euclidean"],
    [["--dimension", "3"], "--dimension: expected 2"],
    [["--text-index"], "--text-index: expected false"],
    [["--model", "default"], "--model: expected none"],
  ] as const)
    await expect(
      command([...args.slice(0, 6), ...other], '{"id":"c","vector":[1,1]}\n'),
    ).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining(`error: ${message}`),
    });
});

test("import says how to store texts alone in a new index", async () => {
  const args = ["import", "--create", "--index", "texts", "--key-file", "texts.key"];
  const line = '{"id":"a","text":"Rotate keys every year."}\n';
  await expect(command(args, line)).rejects.toMatchObject({
    stderr: expect.stringMatching(/delete it, and add --model default\nerror: line 1.*no embedding model/),
  });
  await command(["index", "delete", "texts", "--key-file", "texts.key", "--yes"]);
  const { stdout } = await command([...args, "--model", "default"], line);
  expect(stdout).toBe("Imported 1 items (1 lines).\n");
  expect((await command([...args, "--model", "default"], line)).stdout).toBe(stdout);
});

test.each<[string[], RegExp]>([
  [["index", "create", "new", "--dimension", "abc"], /dimension/],
  [["index", "create", "new", "--shards", "none"], /shards/],
  [["index", "create", "new", "--dimension", "3", "--model", "default"], /dimension: expected 1024/],
  [["index", "create", "kept"], /it already exists/],
  [["import", "--create", "--index", "new", "--dimension", "abc"], /dimension/],
  [["import", "--create", "--index", "new", "--from-line", "first"], /--from-line: expected an integer/],
])("%j makes neither an index nor a key file", async (args, message) => {
  await command(["index", "create", "kept", "--key-file", "kept.key"]);
  await expect(command([...args, "--key-file", "new.key"])).rejects.toMatchObject({
    stderr: expect.stringMatching(message),
  });
  expect(await readdir(folder)).not.toContain("new.key");
  expect((await command(["index", "list"])).stdout).toBe("kept\n");
});

test.each<[string[], RegExp]>([
  [["index", "delete", "kept", "--key-file", "kept.key"], /^error: delete: add --yes to delete kept/],
  [["index", "create", "kept", "--key-file", "kept.key"], /^error: index "kept": it already exists/],
  [["index", "create", "other"], /^error: --key-file: expected a file/],
  [["index", "create", "other", "--key-file", "kept.key", "--type", "hnsw"], /^error: .*ivfflat, ivf, ivfpq/],
  [["index", "create", "other", "--key-file", "kept.key", "--dimension", "many"], /^error: .*dimension/],
  [
    ["index", "create", "other", "--key-file", "0f".repeat(32)],
    /^error: key file: expected its path, got a key\n/,
  ],
  [["index", "train", "kept", "--key-file", "kept.key", "--lists", "many"], /^error: .*nLists/],
  [["index", "describe", "nobody", "--key-file", "kept.key"], /^error: index "nobody": no such index/],
  [["index", "describe", "kept", "--key-file", "none.key"], /^error: --key-file: the file cannot be read/],
  [["index", "copy", "kept", "--key-file", "kept.key", "--to", "nowhere"], /^error: --to: expected/],
  [
    ["wraps", "add", "kept", "a", "--key-file", "kept.key", "--wrap-key-file", "a", "--expires", "soon"],
    /^error: --expires/,
  ],
])("%j is refused in one line", async (args, message) => {
  await newIndex("kept");
  const refused = command(args);
  await expect(refused).rejects.toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(message),
  });
  await expect(refused).rejects.toMatchObject({ stderr: expect.stringMatching(/^[^\n]+\n$/) });
});

test("an index that the library made with fileKey opens with the file", async () => {
  await newIndex("made");
  const key = ["--key-file", "made.key"];
  const { stdout } = await command(["index", "describe", "made", ...key]);
  expect(JSON.parse(stdout)).toMatchObject({ items: 1 });
  await command(["index", "copy", "made", ...key, "--new-name", "copied"]);
  await command(["index", "delete", "made", ...key, "--yes"]);
  expect((await command(["index", "list"])).stdout).toBe("copied\n");
});

test("on a terminal, a bar shows work of more than two seconds, and the result follows it", async () => {
  const args = "import --create --index slow --key-file slow.key";
  const env = { PATH: process.env.PATH, SEALDEX_INDEX_LOCATION: "file:./data" };
  const lines = (from: number) =>
    Array.from({ length: 1000 }, (_, i) => `{"id":"${from + i}","vector":[${i},1]}\n`).join("");
  await writeFile(join(folder, "first.jsonl"), lines(0));
  await writeFile(join(folder, "second.jsonl"), lines(1000));
  // Each batch is reported when it is stored.
  const slowly = "(until [ -e slow.key ]; do sleep 0.1; done; cat first.jsonl; sleep 6; cat second.jsonl)";
  const shell = `${slowly} | ${process.execPath} ${program} ${args}`;
  const { stdout } = await run("script", ["-qec", shell, "/dev/null"], { cwd: folder, env });
  expect(stdout).toMatch(/2000 items.*Imported 2000 items \(2000 lines\)\.\r\n/s);
});

test("a wrong key opens nothing, and memory: is refused", async () => {
  await newIndex("kept");
  await writeFile(join(folder, "wrong.key"), "0".repeat(64));
  const wrong = command(["index", "describe", "kept", "--key-file", "wrong.key"]);
  await expect(wrong).rejects.toMatchObject({
    stderr: expect.stringMatching(/^error: .*does not open th/),
  });
  await expect(command(["index", "list"], "", "memory:")).rejects.toMatchObject({
    stderr: "error: the location is memory:, which other processes cannot read\n",
  });
});
