/** Parts of an input: each row is in one of them, whatever their number. */

import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { expect, test } from "vitest";
import { ingestPart } from "../../packages/server/src/jobs/ingest-part.js";
import { openInput } from "../../packages/server/src/jobs/input-files.js";
import { itemsIn } from "../../packages/server/src/jobs/read-items.js";
import { parsePart, rangesOf } from "../../packages/server/src/jobs/split-input.js";
import { createClient, generateKey } from "../../src/core.js";
import { newFolder } from "../folder.js";
import { inputFiles, inputRow, jsonLines, parquet, rowsFrom, writeFiles } from "./input.js";

/** The rows of a part, as they are stored. */
async function rowsOf(from: string, part: number, parts: number) {
  const { files } = await openInput(from);
  const found = [];
  for (const range of rangesOf(files, { part, parts })) {
    for await (const { item } of itemsIn(range)) {
      const { id, vector, contents, metadata } = item;
      found.push({ id, vector: Array.from(vector ?? []), contents, metadata });
    }
  }
  return found;
}

async function rowsOfAll(from: string, parts: number) {
  const found = [];
  for (let part = 0; part < parts; part++) found.push(...(await rowsOf(from, part, parts)));
  return found;
}

const byNumber = (a: { id: string }, b: { id: string }) => Number(a.id.slice(1)) - Number(b.id.slice(1));

test("every row of every format is in one part", async () => {
  const folder = await newFolder();
  const { files, rows } = inputFiles(200);
  await writeFiles(folder, files);
  for (const parts of [1, 2, 3, 7, 32, 400]) {
    expect((await rowsOfAll(folder, parts)).sort(byNumber)).toEqual(rows);
  }
});

test("parts may begin at any byte, also in lines that are longer than a part or than a piece of the file", async () => {
  const folder = await newFolder();
  const long = { ...inputRow(3), contents: "é".repeat(100_000) };
  const rows = [...rowsFrom(0, 3), long, ...rowsFrom(4, 3)];
  await writeFiles(folder, new Map([["a.jsonl", new TextEncoder().encode(jsonLines(rows))]]));
  expect(await rowsOfAll(folder, 50)).toEqual(rows);
  const short = rowsFrom(0, 3);
  const text = jsonLines(short);
  await writeFiles(folder, new Map([["a.jsonl", new TextEncoder().encode(text)]]));
  // A byte per part.
  expect(await rowsOfAll(folder, new TextEncoder().encode(text).length)).toEqual(short);
});

test("paths, folders and patterns name files", async () => {
  const folder = await newFolder();
  await writeFiles(folder, inputFiles(40).files);
  const names = async (from: string) =>
    (await openInput(from)).files.map(({ name }) => name.slice(folder.length + 1));
  expect(await names(folder)).toEqual(["a.jsonl", "d.parquet", "deep/c.ndjson", "deep/er/b.jsonl.gz"]);
  expect(await names(`file:${folder}/`)).toEqual(await names(folder));
  expect(await names(`${folder}/deep`)).toEqual(["deep/c.ndjson", "deep/er/b.jsonl.gz"]);
  expect(await names(`${folder}/a.jsonl`)).toEqual(["a.jsonl"]);
  expect(await names(`${folder}/*.jsonl`)).toEqual(["a.jsonl"]);
  expect(await names(`${folder}/deep/*/*`)).toEqual(["deep/er/b.jsonl.gz"]);
  await expect(openInput(`${folder}/*.json`)).rejects.toMatchObject({ code: "invalid_request" });
  await expect(openInput(`${folder}/readme.txt`)).rejects.toMatchObject({ code: "invalid_request" });
  await expect(openInput(`${folder}/absent`)).rejects.toMatchObject({ code: "storage_unavailable" });
  await expect(openInput("redis://host")).rejects.toMatchObject({ code: "invalid_request" });
});

test.each(["", "1", "1/1", "-1/2", "0/0", "0/100001", "a/2", "0/2/3", "0x0/2"])("%j is no part", (text) => {
  expect(() => parsePart(text)).toThrow(/^--part: expected i\/n/);
});

test("columns that are no fields join the metadata, which may be JSON, and integers stay exact", async () => {
  const folder = await newFolder();
  const file = parquetWriteBuffer({
    columnData: [
      { name: "_id", data: [7n], type: "INT64" },
      { name: "values", data: [[1, 2]], type: "JSON" },
      { name: "document", data: ["text"], type: "STRING" },
      { name: "metadata", data: ['{"a":1}'], type: "STRING" },
      { name: "hash", data: [2n ** 62n], type: "INT64" },
      { name: "at", data: [new Date(0)], type: "TIMESTAMP" },
      { name: "none", data: [null], type: "STRING" },
    ],
  });
  await writeFile(join(folder, "a.parquet"), new Uint8Array(file));
  const metadata = { a: 1, hash: "4611686018427387904", at: "1970-01-01T00:00:00.000Z" };
  expect(await rowsOf(folder, 0, 1)).toEqual([{ id: "7", vector: [1, 2], contents: "text", metadata }]);
});

test.each(["5", "[1]", "text"])(
  "metadata of Parquet that are no object are refused: %j",
  async (metadata) => {
    const folder = await newFolder();
    const columns = { id: "a", metadata };
    const columnData = Object.entries(columns).map(([name, value]) => ({ name, data: [value] }));
    await writeFile(join(folder, "a.parquet"), new Uint8Array(parquetWriteBuffer({ columnData })));
    await expect(rowsOf(folder, 0, 1)).rejects.toThrow(/a\.parquet, row 1\.metadata: expected an object/);
  },
);

test("Parquet may be compressed by gzip", async () => {
  const folder = await newFolder();
  await writeFile(join(folder, "a.parquet"), parquet(rowsFrom(0, 30), 20, "GZIP"));
  expect(await rowsOfAll(folder, 3)).toEqual(rowsFrom(0, 30));
});

test.each<[string, string | Uint8Array, RegExp]>([
  ["a.jsonl", '{"vector":[1,2,3]}\n', /a\.jsonl, line 1: expected an id/],
  ["a.jsonl", `${jsonLines(rowsFrom(0, 2))}\n{"id":`, /a\.jsonl, line 3: expected a JSON object/],
  ["a.jsonl", `${jsonLines(rowsFrom(0, 2))}\n{"id":"x","vector":[1]}`, /a\.jsonl, line 3\.vector: .*3.*1/],
  ["a.jsonl", Buffer.from("\n\n\xff", "latin1"), /a\.jsonl, line \d: expected UTF-8/],
  ["a.jsonl.gz", "not compressed", /a\.jsonl\.gz: expected gzip/],
  ["a.parquet", "not Parquet, but long enough for one", /a\.parquet: expected a Parquet file/],
])("an invalid row of %s is named: %j", async (name, contents, message) => {
  const folder = await newFolder();
  await writeFile(join(folder, name), contents);
  await using client = createClient({ indexLocation: { location: "memory" } });
  const to = await client.createIndex({ indexName: "i", indexKey: generateKey() });
  const ingest = ingestPart({ to, from: folder, part: { part: 0, parts: 1 }, batchSize: 2 });
  await expect(ingest).rejects.toThrow(message);
});

test("a file that is cut off is refused", async () => {
  const folder = await newFolder();
  const bytes = parquet(rowsFrom(0, 30), 10);
  const path = join(folder, "a.parquet");
  await writeFile(path, bytes);
  const { files } = await openInput(folder);
  const [range] = rangesOf(files, { part: 0, parts: 1 });
  await truncate(path, bytes.length - 100);
  await expect(itemsIn(range).next()).rejects.toMatchObject({ code: "invalid_request" });
});
