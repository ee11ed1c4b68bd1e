/** An index to ingest into, and what it must hold. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { createClient, generateKey, type VectorIndex } from "../../src/core.js";
import { newFolder } from "../folder.js";
import { inputFiles, type InputRow, writeFiles } from "./input.js";

/** `args`: of the commands that open the index. */
export async function prepare(kind: "index" | "collection", rowCount: number) {
  const folder = await newFolder();
  const { files, rows } = inputFiles(rowCount);
  await writeFiles(join(folder, "in"), files);
  await mkdir(join(folder, "data"));
  const location = { location: "local" as const, path: join(folder, "data") };
  const client = createClient({ indexLocation: location });
  const request = { indexName: "rows", indexKey: generateKey() };
  const index =
    kind === "index"
      ? await client.createIndex(request)
      : await client.createCollection({ ...request, shards: 4 });
  const env = { SEALDEX_INDEX_LOCATION: `file:${location.path}` };
  const keyFile = join(folder, "key");
  await writeFile(keyFile, request.indexKey);
  const args = ["--index", "rows", "--key-file", keyFile];
  return { folder, files, rows, client, index, env, args, indexKey: request.indexKey };
}

/** Every row once, as it is. */
export async function expectRows(index: VectorIndex, rows: readonly InputRow[]): Promise<void> {
  expect(await index.count()).toBe(rows.length);
  const stored = await index.get(
    rows.map(({ id }) => id),
    { include: ["vector", "contents", "metadata"] },
  );
  const plain = stored.map(({ id, vector, contents, metadata }) => ({
    id,
    vector: Array.from(vector),
    contents,
    metadata,
  }));
  expect(plain).toEqual(rows);
}
