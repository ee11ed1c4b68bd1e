/** Folders that LangChain's stores wrote. */

import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { MemoryVectorStore } from "@langchain/classic/vectorstores/memory";
import { FakeEmbeddings } from "@langchain/core/utils/testing";
import hnswlib from "hnswlib-node";
import { expect, test } from "vitest";
import { vectorOf, Workspace } from "./run-command.js";

const odd = {
  none: null,
  deep: { list: [1, { inner: null }, []], empty: {} },
  "a.b": "dotted",
  text: "é\u2028",
};

/** As `save` of LangChain's HNSWLib. */
async function writeHnswlib(
  workspace: Workspace,
  space: "cosine" | "l2" | "ip",
  vectors: readonly number[][],
): Promise<hnswlib.HierarchicalNSW> {
  const [{ length: dimension }] = vectors;
  await mkdir(workspace.path("old"));
  const graph = new hnswlib.HierarchicalNSW(space, dimension);
  graph.initIndex(vectors.length + 10);
  vectors.forEach((vector, i) => graph.addPoint(vector, i));
  await workspace.writeJson("old/args.json", { space, numDimensions: dimension });
  await workspace.writeJson(
    "old/docstore.json",
    vectors.map((_, i) => [String(i), { pageContent: `text ${i}`, metadata: { page: i, ...odd } }]),
  );
  graph.writeIndexSync(workspace.path("old", "hnswlib.index"));
  return graph;
}

test.each(["cosine", "l2"] as const)("HNSWLib with the space %s", async (space) => {
  const workspace = await Workspace.create();
  const vectors = Array.from({ length: 1500 }, (_, i) => vectorOf(i, 17));
  const graph = await writeHnswlib(workspace, space, vectors);
  const { code, stdout } = await workspace.run("hnswlib:old");
  expect(stdout).toContain("Check: all 1,500 ids are in the index.");
  expect(stdout).toContain("Check: 100 sampled items equal");
  expect(stdout).toContain("Check: recall@10 1.000 against an exact scan.");
  expect(stdout).toContain("still holds this data as plaintext");
  expect(code).toBe(0);
  const items = await workspace.items();
  expect(Object.keys(items)).toHaveLength(1500);
  for (let i = 0; i < vectors.length; i++) {
    const expected = { vector: graph.getPoint(i), contents: `text ${i}`, metadata: { page: i, ...odd } };
    expect(items[i]).toEqual(expected);
  }
});

test("HNSWLib leaves elements that are marked as deleted, and asks for the metric of inner products", async () => {
  const workspace = await Workspace.create();
  const graph = await writeHnswlib(
    workspace,
    "ip",
    Array.from({ length: 5 }, (_, i) => vectorOf(i, 4)),
  );
  graph.markDelete(3);
  graph.writeIndexSync(workspace.path("old", "hnswlib.index"));
  const refused = await workspace.run("hnswlib:old");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("--metric");
  expect((await workspace.run("hnswlib:old", ["--metric", "cosine"])).code).toBe(0);
  expect(Object.keys(await workspace.items())).toEqual(["0", "1", "2", "4"]);
});

test("HNSWLib whose file ends early is refused", async () => {
  const workspace = await Workspace.create();
  const vectors = Array.from({ length: 50 }, (_, i) => vectorOf(i, 4));
  await writeHnswlib(workspace, "l2", vectors);
  const file = await readFile(workspace.path("old", "hnswlib.index"));
  await writeFile(workspace.path("old", "hnswlib.index"), file.subarray(0, 2000));
  const { code, stderr } = await workspace.run("hnswlib:old");
  expect(stderr).toMatch(/^error: .*hnswlib\.index: it ends early/m);
  expect(code).toBe(1);
});

const faissFolders = fileURLToPath(new URL("./faiss-folders/", import.meta.url));

/** A folder as `save` of LangChain's FaissStore writes it, around an index that faiss-cpu wrote. */
async function writeFaiss(workspace: Workspace, kind: string): Promise<number[][]> {
  const vectors = JSON.parse(await readFile(`${faissFolders}vectors.json`, "utf8")) as number[][];
  await mkdir(workspace.path("old"));
  await copyFile(`${faissFolders}${kind}/faiss.index`, workspace.path("old", "faiss.index"));
  const id = (i: number) => `00000000-0000-4000-8000-0000000000${i + 10}`;
  await workspace.writeJson("old/docstore.json", [
    // The order of the documents is another than that of the vectors.
    vectors.map((_, i) => [id(i), { pageContent: `text ${i}`, metadata: { page: i, ...odd } }]).reverse(),
    Object.fromEntries(vectors.map((_, i) => [i, id(i)])),
  ]);
  return vectors;
}

test.each(["flat", "hnsw-flat"])("FAISS, %s", async (kind) => {
  const workspace = await Workspace.create();
  const vectors = await writeFaiss(workspace, kind);
  const { code, stdout } = await workspace.run("faiss:old");
  expect(stdout).toContain("Check: recall@10 1.000");
  expect(code).toBe(0);
  const items = Object.values(await workspace.items());
  expect(items).toEqual(
    vectors.map((vector, i) => ({ vector, contents: `text ${i}`, metadata: { page: i, ...odd } })),
  );
});

test("FAISS with inner products needs a metric, and other kinds are refused by name", async () => {
  const workspace = await Workspace.create();
  await writeFaiss(workspace, "flat-ip");
  expect((await workspace.run("faiss:old")).stderr).toContain("--metric");
  expect((await workspace.run("faiss:old", ["--metric", "cosine"])).code).toBe(0);
  const other = await Workspace.create();
  await writeFaiss(other, "ivf");
  expect((await other.run("faiss:old")).stderr).toContain('expected a flat or HNSW-flat index, got "IwFl"');
});

test("MemoryVectorStore: ids stay, and those that are missing are made from the content", async () => {
  const workspace = await Workspace.create();
  const store = new MemoryVectorStore(new FakeEmbeddings());
  await store.addVectors(
    [
      [1, 0, 0.1],
      [0, 1, 0.2],
      [0, 1, 0.2],
    ],
    [
      { id: "own", pageContent: "first", metadata: odd },
      { pageContent: "second", metadata: {} },
      { pageContent: "second", metadata: {} },
    ],
  );
  await workspace.writeJson("memory.json", store.memoryVectors);
  const { stdout } = await workspace.run("memory:memory.json");
  expect(stdout).toContain("1 row had the id of another row");
  const items = await workspace.items();
  expect(items.own).toEqual({ vector: [1, 0, 0.1].map(Math.fround), contents: "first", metadata: odd });
  const [made, ...others] = Object.keys(items).filter((id) => id !== "own");
  expect(others).toEqual([]);
  expect(made).toMatch(/^[0-9a-f]{32}$/);
  // A second run makes the same ids.
  expect((await workspace.run("memory:memory.json")).code).toBe(0);
  expect(await workspace.items()).toEqual(items);
});
