/** Images behind HTTP: in base64, never from a path or a URL, and through the client. */

import { rm } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, generateKey, type Image, type VectorIndex } from "../../src/core.js";
import { buildModels } from "../embedding/small-models.js";
import { type RunningService, startService } from "./service.js";

const model = "small-clip";
/** Images of one pixel: red, green. */
const red = "R0lGODlhAQABAIAAAP8AAAAAACwAAAAAAQABAAACAkQBADs=";
const green = "R0lGODlhAQABAIAAAAD/AAAAACwAAAAAAQABAAACAkQBADs=";

let service: RunningService;
let localFolder: string;

beforeAll(async () => {
  localFolder = await buildModels();
  service = await startService({ models: { localFolder, offline: true, allowed: [model] } });
});

afterAll(async () => {
  await service.close();
  await rm(localFolder, { recursive: true });
});

test("text finds images and images find images, and an item keeps the requested parts", async () => {
  const address = await service.newIndex({ embedding_model: model });
  const items = [
    { id: "red", contents: { base64: red }, keep: true },
    { id: "green", contents: { base64: green }, keep: "a green dot" },
    { id: "none", contents: { base64: green } },
  ];
  expect(await service.post("/v1/vectors/upsert", { ...address, items })).toMatchObject({ status: 200 });
  for (const query_contents of ["red", { base64: red }, `data:image/gif;base64,${red}`]) {
    const { body } = await service.post("/v1/vectors/query", { ...address, query_contents, top_k: 1 });
    expect(body).toMatchObject({ results: [{ id: "red" }] });
  }
  const { body } = await service.post("/v1/vectors/get", {
    ...address,
    ids: ["red", "green", "none"],
    include: ["contents"],
  });
  expect(body).toEqual({
    results: [
      { id: "red", contents: `data:image/gif;base64,${red}` },
      { id: "green", contents: "a green dot" },
      { id: "none" },
    ],
  });
});

test("no request makes the service read a path or a URL, or take pixels", async () => {
  const address = await service.newIndex({ embedding_model: model });
  const path = `${localFolder}/small-clip/config.json`;
  const wrong = [
    { path },
    { path, base64: 5 },
    { url: "http://127.0.0.1:1/a.png" },
    { base64: path },
    { data: [255, 0, 0], width: 1, height: 1, channels: 3 },
    {},
    [red],
    5,
  ];
  for (const contents of wrong) {
    const item = { ...address, items: [{ id: "a", contents }] };
    expect((await service.post("/v1/vectors/upsert", item)).status, JSON.stringify(contents)).toBe(422);
    const query = { ...address, query_contents: contents };
    expect((await service.post("/v1/vectors/query", query)).status, JSON.stringify(contents)).toBe(422);
  }
  const both = { ...address, items: [{ id: "a", contents: { base64: red, path } }] };
  expect((await service.post("/v1/vectors/upsert", both)).status).toBe(422);
  const kept = { ...address, items: [{ id: "b", contents: { base64: red }, keep: { path } }] };
  expect((await service.post("/v1/vectors/upsert", kept)).status).toBe(422);
});

test("an image on an index without a model of images is 422", async () => {
  for (const options of [{ embedding_model: "default" }, {}]) {
    const address = await service.newIndex(options);
    const item = { ...address, items: [{ id: "a", contents: { base64: red } }] };
    expect((await service.post("/v1/vectors/upsert", item)).status).toBe(422);
    const query = { ...address, query_contents: { base64: red } };
    expect((await service.post("/v1/vectors/query", query)).status).toBe(422);
  }
});

test("the client sends bytes and base64, and refuses unreadable images", async () => {
  await using client = createClient(service.address);
  const index: VectorIndex = await client.createIndex({
    indexName: "by client",
    indexKey: generateKey(),
    embeddingModel: model,
  });
  await index.upsert([
    { id: "red", contents: Buffer.from(red, "base64"), keep: "a red dot" },
    { id: "green", contents: { base64: green } },
  ]);
  const [match] = await index.query({
    queryContents: Buffer.from(red, "base64"),
    topK: 1,
    include: ["contents"],
  });
  expect(match).toEqual({ id: "red", contents: "a red dot" });
  const pixels: Image = { data: new Uint8Array(3), width: 1, height: 1, channels: 3 };
  for (const contents of [{ path: "a.png" }, pixels]) {
    await expect(index.upsert([{ id: "a", contents }])).rejects.toThrow(
      /^items\[0\]\.contents: expected a text, or/,
    );
    await expect(index.query({ queryContents: contents })).rejects.toThrow(
      /^queryContents: expected a text, or/,
    );
  }
});
