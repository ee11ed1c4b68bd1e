/** Files of rows, and the command itself. */

import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";
import { createClient, exportItems, fileKey } from "sealdex/core";
import { parquetWriteBuffer } from "hyparquet-writer";
import { expect, onTestFinished, test, vi } from "vitest";
import { parquetSource } from "../src/sources/parquet.js";
import { vectorOf, Workspace } from "./run-command.js";

const flatIndex = fileURLToPath(new URL("./faiss-folders/flat/faiss.index", import.meta.url));

test("JSONL: fields of other stores, odd metadata, lines of our own export", async () => {
  const workspace = await Workspace.create();
  await workspace.writeJson(
    "rows.jsonl",
    [
      '{"id":"1","embedding":[0.5,1],"document":"one","metadata":{"none":null,"__proto__":{"x":1}},"page":7}',
      "",
      '{"_id":2,"values":[1,0],"page_content":"two","big":12345678901234567890,"inf":1e999,"zero":-0}',
      '{"vector":"AACAPwAAAAA=","text":null,"metadata":"{\\"from\\":\\"a text\\"}"}',
      '{"id":"gone","vector":null}',
    ].join("\r\n"),
  );
  const planned = await workspace.run("jsonl:rows.jsonl", ["--plan"]);
  expect(planned.stdout).toContain("From jsonl:rows.jsonl: 4 rows, metric not known (give --metric).");
  const { code, stdout } = await workspace.run("jsonl:rows.jsonl", ["--metric", "euclidean", "--text-index"]);
  expect(stdout).toContain("metadata.big: integer beyond 2^53 (1)\n  metadata.inf: Infinity (1)");
  expect(stdout).toContain("without a vector: 1 row (gone)");
  expect(code).toBe(0);
  const { "1": one, "2": two, ...others } = await workspace.items();
  expect(one.contents).toBe("one");
  expect(JSON.stringify(one.metadata)).toBe('{"none":null,"__proto__":{"x":1},"page":7}');
  expect(two).toEqual({
    vector: [1, 0],
    contents: "two",
    metadata: { big: "12345678901234567890", inf: "Infinity", zero: 0 },
  });
  expect(Object.values(others)).toEqual([
    { vector: [1, 0], contents: undefined, metadata: { from: "a text" } },
  ]);
  await using client = createClient({ indexLocation: { location: "local", path: workspace.path("data") } });
  const from = await client.loadIndex({ indexName: "notes", indexKey: fileKey(workspace.path("notes.key")) });
  const again = await Workspace.create();
  await writeFile(again.path("rows.jsonl"), exportItems({ from }));
  expect((await again.run("jsonl:rows.jsonl", ["--metric", "euclidean"])).code).toBe(0);
  expect(await again.items()).toEqual(await workspace.items());
});

test("rows whose vectors are in an unknown field are no success, and their store is not to be deleted", async () => {
  const workspace = await Workspace.create();
  await workspace.writeJson("rows.jsonl", '{"id":"1","vec":[1,0]}\n{"id":"2","vec":[0,1]}\n');
  const { code, stdout } = await workspace.run("jsonl:rows.jsonl", ["--metric", "cosine"]);
  expect(stdout).toContain("CHECK FAILED: no row has a vector; name its field by --vector-field.");
  expect(stdout).not.toContain("Delete");
  expect(code).toBe(1);
  const again = await workspace.run("jsonl:rows.jsonl", ["--metric", "cosine", "--vector-field", "vec"]);
  expect(again.stdout).toContain("Check: all 2 ids are in the index.");
  expect(again.code).toBe(0);
});

test("JSONL: a line ends at a line feed alone, and is UTF-8", async () => {
  const workspace = await Workspace.create();
  const text = "a\u2028b\u2029c\u0085d\ufeffé😀";
  const lines = [text, `${text} again`].map((each, i) =>
    JSON.stringify({ id: `${i}`, vector: [1, i], text: each }),
  );
  await workspace.writeJson("rows.jsonl", `\ufeff${lines.join("\r\n")}`);
  const { code, stdout } = await workspace.run("jsonl:rows.jsonl", ["--metric", "cosine"]);
  expect(stdout).toContain("Check: all 2 ids are in the index.");
  expect(code).toBe(0);
  const items = await workspace.items();
  expect([items["0"].contents, items["1"].contents]).toEqual([text, `${text} again`]);
  for (const bytes of [[0xff], [0xc3]]) {
    await writeFile(workspace.path("rows.jsonl"), Buffer.from([...Buffer.from(lines[0]), 10, ...bytes]));
    const refused = await workspace.run("jsonl:rows.jsonl", ["--metric", "cosine"]);
    expect(refused.stderr).toMatch(/^error: line [12]: expected UTF-8.*\n$/);
  }
});

test("files that are damaged are refused in one line, which repeats none of their text", async () => {
  const secret = "a secret";
  const documents = JSON.stringify([["0", { pageContent: secret }]]);
  const files = {
    "cut.json": `[{"content":"${secret}`,
    "null.json": "[null]",
    "cut.parquet": "PAR1 of something else",
    "empty.parquet": "",
    "vector.jsonl": `{"vector":"[1,2","text":"${secret}"}`,
    "cut/docstore.json": documents.slice(0, -4),
    "list/docstore.json": documents,
    "none/docstore.json": "null",
    "args/args.json": '{"space":',
    "space/args.json": "null",
  };
  const workspace = await Workspace.create();
  for (const folder of ["cut", "list", "none", "args", "space"]) {
    await mkdir(workspace.path(folder));
    await copyFile(flatIndex, workspace.path(folder, "faiss.index"));
  }
  for (const [name, text] of Object.entries(files)) await workspace.writeJson(name, text);
  for (const [from, message] of Object.entries({
    "memory:cut.json": "cut.json: expected JSON; it ends early",
    "memory:null.json": "null.json: expected the JSON of memoryVectors",
    "parquet:cut.parquet": "cut.parquet: it cannot be read as Parquet",
    "parquet:empty.parquet": "empty.parquet: it cannot be read as Parquet",
    "jsonl:vector.jsonl": "vector: expected numbers, got invalid JSON",
    "faiss:cut": "cut/docstore.json: expected JSON; it ends early",
    "faiss:list": "list/docstore.json: expected a list of keys and documents",
    "faiss:none": "none/docstore.json: expected a list of keys and documents",
    "hnswlib:args": "args/args.json: expected JSON; it ends early",
    "hnswlib:space": "ENOENT",
  })) {
    const { code, stderr } = await workspace.run(from, ["--metric", "cosine", "--plan"]);
    expect(stderr, from).toMatch(/^error: .*\n$/);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain(secret);
    expect(code).toBe(1);
  }
});

test("each page of a Parquet file is decompressed once, however many rows are in a group", async () => {
  const workspace = await Workspace.create();
  const numbers = Array.from({ length: 5000 }, (_, i) => i);
  const columnData = [
    { name: "id", data: numbers.map(String), type: "STRING" as const },
    { name: "embedding", data: numbers.map((i) => vectorOf(i, 2)) },
  ];
  const compressors = { GZIP: (input: Uint8Array) => zlib.gzipSync(input) };
  const file = parquetWriteBuffer({
    columnData,
    codec: "GZIP",
    compressors,
    rowGroupSize: 4000,
    pageSize: 1024,
  });
  await writeFile(workspace.path("rows.parquet"), Buffer.from(file));
  const decompress = vi.spyOn(zlib, "gunzipSync");
  onTestFinished(() => decompress.mockRestore());
  const read: string[] = [];
  for await (const { id = "" } of parquetSource(workspace.path("rows.parquet"), {}).rows(10)) read.push(id);
  expect(read).toEqual(numbers.slice(10).map(String));
  const pages = decompress.mock.calls.map(([page]) => Buffer.from(page as Uint8Array).toString("latin1"));
  expect(pages.length).toBeGreaterThan(10);
  expect(new Set(pages).size).toBe(pages.length);
});

test("a Parquet file with fewer rows than it says is refused", async () => {
  const workspace = await Workspace.create();
  const numbers = Array.from({ length: 50 }, (_, i) => i);
  const columnData = [{ name: "embedding", data: numbers.map((i) => vectorOf(i, 2)) }];
  const file = Buffer.from(parquetWriteBuffer({ columnData }));
  // The field of the file's metadata, and the number as a varint with zigzag.
  const at = file.indexOf(Buffer.from([0x16, 2 * 50]), file.length - 8 - file.readUInt32LE(file.length - 8));
  file[at + 1] = 2 * 51;
  await writeFile(workspace.path("rows.parquet"), file);
  const { code, stderr } = await workspace.run("parquet:rows.parquet", ["--metric", "cosine", "--plan"]);
  expect(stderr).toBe("error: rows.parquet: it has not as many rows as it says\n");
  expect(code).toBe(1);
});

test("a state file that is none is refused and stays as it is", async () => {
  const workspace = await Workspace.create();
  await workspace.writeJson("rows.jsonl", '{"id":"1","vector":[1,2]}\n');
  for (const text of ["", "null", '{"migration":', '{"migration":"x"}']) {
    await workspace.writeJson("other.json", text);
    const { stderr } = await workspace.run("jsonl:rows.jsonl", [
      "--metric",
      "cosine",
      "--state",
      "other.json",
    ]);
    expect(stderr).toMatch(/^error: other\.json: expected a place to resume from.*\n$/);
    expect(await readFile(workspace.path("other.json"), "utf8")).toBe(text);
  }
});

test("Parquet", async () => {
  const workspace = await Workspace.create();
  const numbers = Array.from({ length: 2100 }, (_, i) => i);
  const file = parquetWriteBuffer({
    columnData: [
      { name: "id", data: numbers.map((i) => `p${i}`), type: "STRING" },
      { name: "embedding", data: numbers.map((i) => vectorOf(i, 4)) },
      { name: "text", data: numbers.map((i) => (i % 3 === 0 ? null : `text ${i}`)), type: "STRING" },
      { name: "metadata", data: numbers.map((i) => ({ i, deep: [null, { a: i }] })), type: "JSON" },
      { name: "count", data: numbers.map((i) => BigInt(i) * 2n ** 50n), type: "INT64" },
      { name: "made", data: numbers.map((i) => new Date(i)), type: "TIMESTAMP" },
    ],
    rowGroupSize: 1000,
  });
  await writeFile(workspace.path("rows.parquet"), Buffer.from(file));
  const { code, stdout } = await workspace.run("parquet:rows.parquet", ["--metric", "cosine"]);
  expect(stdout).toContain("metadata.made: date (2100)");
  expect(stdout).toContain("metadata.count: integer beyond 2^53 (2092)");
  expect(code).toBe(0);
  const items = await workspace.items();
  expect(Object.keys(items)).toHaveLength(2100);
  for (const i of numbers) {
    const count = i < 8 ? i * 2 ** 50 : String(BigInt(i) * 2n ** 50n);
    expect(items[`p${i}`]).toEqual({
      vector: vectorOf(i, 4),
      contents: i % 3 === 0 ? undefined : `text ${i}`,
      metadata: { i, deep: [null, { a: i }], count, made: new Date(i).toISOString() },
    });
  }
});

test("a plan counts, shows rows without control characters, and writes nothing", async () => {
  const workspace = await Workspace.create();
  const text = "a\u001b[31m\u009b red";
  await workspace.writeJson("memory.json", [
    { content: text, embedding: [1, 2], metadata: { when: 1, tags: ["x"] } },
    { id: "b", content: "b", embedding: [3, 4], metadata: {} },
  ]);
  const { code, stdout } = await workspace.run("memory:memory.json", ["--plan"]);
  expect(stdout).toContain("From memory:memory.json: 2 rows, metric cosine.\nTo a new index notes.");
  expect(stdout).toContain("dimension 2; 1 without an id");
  expect(stdout).toContain('metadata  {"when":1,"tags":["x"]}');
  // oxlint-disable-next-line no-control-regex
  expect(stdout).not.toMatch(/[\u001b\u009b]/);
  expect(code).toBe(0);
  expect(await readdir(workspace.folder)).toEqual(["memory.json"]);
});

test("memoryVectors in a file that is too long for a string are refused, with another way", async () => {
  const workspace = await Workspace.create();
  await writeFile(workspace.path("memory.json"), "");
  await truncate(workspace.path("memory.json"), 2 ** 32);
  const { code, stderr } = await workspace.run("memory:memory.json", ["--plan"]);
  expect(stderr).toBe(
    "error: memory.json: too long to be read at once; write each of memoryVectors as a line, for jsonl:\n",
  );
  expect(code).toBe(1);
});

test("refusals are one line, name the row, and repeat no secret", async () => {
  const workspace = await Workspace.create();
  const one = async (line: string) => {
    await workspace.writeJson("rows.jsonl", `{"id":"ok","vector":[1,2]}\n${line}\n`);
    const { stderr, code } = await workspace.run("jsonl:rows.jsonl", ["--metric", "cosine"]);
    expect(code).toBe(1);
    return stderr.replace(/^Wrote a new key.*\n/, "");
  };
  expect(await one('{"id":"bad row","vector":[1,2,3]}')).toMatch(/^error: row "bad row".*\n$/);
  expect(await one(`{"id":"${"x".repeat(600)}","vector":[1,2]}`)).toMatch(/^error: row "xxx.*512.*\n$/);
  expect(await one('{"id":"a","vector":["1",2]}')).toMatch(
    /^error: line 2: vector\[0\]: expected a number.*\n$/,
  );
  const metadata = '{"id":"a","vector":[1,2],"metadata":{"page":1},"page":2}';
  expect(await one(metadata)).toContain("line 2: page: a field of the row and of its metadata");
  const to = await workspace.run("jsonl:rows.jsonl", ["--to", "s3://key:secret@"]);
  expect(to.stderr).toMatch(/^error: --to: expected file:/);
  const memory = await workspace.run("jsonl:rows.jsonl", ["--to", "memory:"]);
  expect(memory.stderr).toMatch(/^error: --to: expected storage that outlives the command/);
  expect(to.stderr).not.toContain("secret");
  const from = await workspace.run("pgvector:postgres://u:secret@");
  expect(from.stderr).not.toContain("secret");
  expect((await workspace.run("other:x")).stderr).toContain("--from: expected hnswlib:, faiss:");
  expect((await workspace.run("jsonl:absent.jsonl")).stderr).toMatch(/^error: ENOENT.*\n$/);
});

test("an index with another metric is refused unless the metric is given", async () => {
  const workspace = await Workspace.create();
  await workspace.writeJson("memory.json", [{ id: "a", content: "a", embedding: [1, 2], metadata: {} }]);
  await workspace.run("memory:memory.json", ["--metric", "euclidean"]);
  const refused = await workspace.run("memory:memory.json");
  expect(refused.stderr).toContain("the index compares by euclidean, the rows by cosine");
  expect(existsSync(workspace.path("notes.sealdex-migrate.json"))).toBe(false);
  expect((await workspace.run("memory:memory.json", ["--metric", "euclidean"])).code).toBe(0);
});
