/** `fileKey` with `create`: the first index creates the file, and nothing replaces it. */

import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { createClient, fileKey, generateKey } from "../../src/core.js";

const run = promisify(execFile);

let folder = "";
let path = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sealdex-key-file-"));
  path = join(folder, "notes.key");
  return () => rm(folder, { recursive: true });
});

const indexKey = () => fileKey(path, { create: true });
const open = () => createClient({ indexLocation: { location: "local", path: join(folder, "data") } });
const vector = [1, 0];

test("creates the file for its owner only, and opens the index again with it", async () => {
  await using client = open();
  const index = await client.createIndex({ indexName: "notes", indexKey: indexKey() });
  await index.upsert([{ id: "a", vector }]);
  const text = await readFile(path, "utf8");
  expect(text).toMatch(/^[0-9a-f]{64}\n$/);
  if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
  await using later = open();
  const again = await later.loadIndex({ indexName: "notes", indexKey: indexKey() });
  expect(await again.listIds()).toEqual(["a"]);
  expect(await readFile(path, "utf8")).toBe(text);
  expect((await readdir(folder)).sort()).toEqual(["data", "notes.key"]);
});

test.each(["\n", "\r\n", "  \n\n", ""])("ignores white space after the key (%j)", async (end) => {
  const key = generateKey();
  await writeFile(path, key);
  await using client = open();
  await client.createIndex({ indexName: "notes", indexKey: indexKey() });
  await writeFile(path, key.toUpperCase() + end);
  await client.loadIndex({ indexName: "notes", indexKey: indexKey() });
});

test("of several creations at once, one makes the key", async () => {
  await using client = open();
  const names = Array.from({ length: 20 }, (_, i) => `notes-${i}`);
  await Promise.all(names.map((indexName) => client.createIndex({ indexName, indexKey: indexKey() })));
  for (const indexName of names) await client.loadIndex({ indexName, indexKey: indexKey() });
  expect((await readdir(folder)).sort()).toEqual(["data", "notes.key"]);
});

test("of two processes at once, both have the key of one", async () => {
  const program = `
    import { createClient, fileKey } from "sealdex/core";
    const [path, data, indexName] = process.argv.slice(1);
    const client = createClient({ indexLocation: { location: "local", path: data } });
    await client.createIndex({ indexName, indexKey: fileKey(path, { create: true }) });
    await client.close();`;
  const start = (name: string) =>
    run(process.execPath, ["--input-type=module", "-e", program, path, join(folder, "data"), name]);
  await Promise.all(["a", "b", "c"].map(start));
  await using client = open();
  for (const indexName of ["a", "b", "c"]) await client.loadIndex({ indexName, indexKey: fileKey(path) });
});

test("never makes a key for an index that exists: it says that the file is absent", async () => {
  await using client = open();
  await client.createIndex({ indexName: "notes", indexKey: indexKey() });
  await rm(path);
  await using later = open();
  await expect(later.loadIndex({ indexName: "notes", indexKey: indexKey() })).rejects.toMatchObject({
    code: "not_found",
    message: expect.stringMatching(
      /^key file: there is none at its path\. .*restore a copy of it$/,
    ) as string,
  });
  expect(await readdir(folder)).toEqual(["data"]);
});

test("without create, or where no file can be created, there is no key", async () => {
  await using client = open();
  const refused = (key: ReturnType<typeof fileKey>) =>
    expect(client.createIndex({ indexName: "notes", indexKey: key })).rejects;
  await refused(fileKey(path)).toMatchObject({
    code: "not_found",
    message: expect.stringContaining("With { create: true }, a new index gets one") as string,
  });
  await refused(fileKey(folder)).toMatchObject({ code: "not_found", message: "key file: cannot be read" });
  const nowhere = fileKey(join(folder, "absent", "notes.key"), { create: true });
  await refused(nowhere).toMatchObject({
    code: "not_found",
    message: "key file: cannot be created: there is no folder for it",
  });
  expect(() => fileKey(path, { create: "yes" } as never)).toThrow("create: expected a boolean, got string");
  expect(() => fileKey(path, { created: true } as never)).toThrow('unknown property "created"');
});

test("a key instead of a path is refused, and becomes no file and no part of an error", async () => {
  const key = generateKey();
  expect(() => fileKey(key, { create: true })).toThrow(/^key file: expected its path, got a key$/);
  expect(() => fileKey(key.toUpperCase())).toThrow(/^key file: expected its path, got a key$/);
});

test("a provider for a key and the key itself are told apart when they do not open the index", async () => {
  await using client = open();
  await client.createIndex({ indexName: "provided", indexKey: indexKey() });
  const key = (await readFile(path, "utf8")).trim();
  await client.createIndex({ indexName: "plain", indexKey: key });
  await expect(client.loadIndex({ indexName: "plain", indexKey: indexKey() })).rejects.toThrow(
    /this key provider \(key file\) does not open .* created with a key itself.* needs that key instead/,
  );
  await expect(client.loadIndex({ indexName: "provided", indexKey: key })).rejects.toThrow(
    /created by such a provider needs the provider instead of the key in its file$/,
  );
});

test("a key that does not open the index says what usually happened", async () => {
  await using client = open();
  await client.createIndex({ indexName: "notes", indexKey: generateKey() });
  const wrong = client.loadIndex({ indexName: "notes", indexKey: generateKey() });
  await expect(wrong).rejects.toThrow(
    /this key does not open the index .*generateKey\(\) each time it runs.*fileKey\(/,
  );
});
