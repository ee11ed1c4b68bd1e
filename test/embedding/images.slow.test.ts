/** Images: found by texts and by images, on small models of CLIP's and SigLIP's shape that the tests build. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RawImage } from "@huggingface/transformers";
import { Embeddings } from "@langchain/core/embeddings";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient, generateKey, type Image, reembed, type VectorIndex } from "../../src/core.js";
import { EncryptedVectorStore, SealdexEmbeddings } from "../../src/index.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { buildModels, smallDimension } from "./small-models.js";

type Color = readonly [number, number, number];
const red: Color = [255, 0, 0];
const green: Color = [0, 255, 0];
const blue: Color = [0, 0, 255];

let localFolder: string;
let folder: string;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  localFolder = await buildModels();
  folder = await mkdtemp(join(tmpdir(), "sealdex-images-"));
});

afterAll(async () => {
  await Promise.all(open.map((each) => each.close()));
  await Promise.all([localFolder, folder].map((each) => rm(each, { recursive: true })));
});

function pixels([r, g, b]: Color, size = 12): RawImage {
  return new RawImage(
    Uint8ClampedArray.from({ length: 3 * size * size }, (_, i) => [r, g, b][i % 3]),
    size,
    size,
    3,
  );
}

async function file(color: Color, format: "png" | "jpeg" | "webp" | "gif" = "png"): Promise<Uint8Array> {
  const sharp = pixels(color).toSharp() as { toFormat(name: string): { toBuffer(): Promise<Uint8Array> } };
  return sharp.toFormat(format).toBuffer();
}

async function imagePath(color: Color, name: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, await file(color));
  return path;
}

function newClient() {
  const client = createClient({ indexLocation: createMemoryStore(), models: { localFolder, offline: true } });
  open.push(client);
  return client;
}

function newIndex(embeddingModel = "small-clip", indexName = "images"): Promise<VectorIndex> {
  return newClient().createIndex({ indexName, indexKey: generateKey(), embeddingModel, metric: "cosine" });
}

async function nearest(index: VectorIndex, queryContents: string | Image): Promise<string> {
  const [{ id }] = await index.query({ queryContents, topK: 1 });
  return id;
}

describe.each(["small-clip", "small-siglip"])("%s", (model) => {
  test("text finds images, images find images and texts, in every form of an image", async () => {
    const index = await newIndex(model);
    const path = await imagePath(green, `${model}.png`);
    await index.upsert([
      { id: "red", contents: await file(red) },
      { id: "green", contents: { path } },
      { id: "blue", contents: pixels(blue) },
      { id: "text", contents: "salmon swim upstream" },
    ]);
    for (const [word, color] of Object.entries({ red, green, blue })) {
      expect(await nearest(index, word)).toBe(word);
      expect(await nearest(index, pixels(color, 5))).toBe(word);
      for (const format of ["png", "jpeg", "webp", "gif"] as const) {
        const bytes = await file(color, format);
        expect(await nearest(index, bytes), format).toBe(word);
        expect(await nearest(index, { base64: Buffer.from(bytes).toString("base64") }), format).toBe(word);
      }
    }
    expect(await nearest(index, "salmon")).toBe("text");
  });
});

test("greyscale images, images with transparency and images of one pixel are embedded", async () => {
  const index = await newIndex();
  for (const channels of [1, 2, 3, 4] as const) {
    const data = new Uint8Array(channels).fill(255);
    await index.upsert([{ id: `${channels}`, contents: { data, width: 1, height: 1, channels } }]);
  }
  const grey = new RawImage(new Uint8ClampedArray(72).fill(255), 6, 6, 2).toSharp() as {
    png(): { toBuffer(): Promise<Uint8Array> };
  };
  await index.upsert([{ id: "file", contents: await grey.png().toBuffer() }]);
  const matches = await index.query({ queryContents: pixels([255, 255, 255]), topK: 5 });
  // Transparency does not count: all of them are white.
  expect(matches.map(({ distance }) => distance)).toEqual(Array(5).fill(expect.closeTo(0, 5)));
});

test("an item keeps nothing of its image, a text, or the image, as it is asked to", async () => {
  const index = await newIndex();
  const bytes = await file(red);
  await index.upsert([
    { id: "nothing", contents: bytes, metadata: { a: 1 } },
    { id: "text", contents: bytes, keep: "a red square" },
    { id: "image", contents: bytes, keep: true },
    { id: "with vector", contents: pixels(red), keep: "x", vector: Array(smallDimension).fill(1) },
  ]);
  const items = await index.get(["nothing", "text", "image", "with vector"], {
    include: ["contents", "metadata"],
  });
  const kept = `data:image/png;base64,${Buffer.from(bytes).toString("base64")}`;
  expect(items.map(({ contents }) => contents)).toEqual([undefined, "a red square", kept, "x"]);
  expect(items[0].metadata).toEqual({ a: 1 });
});

test("a kept image is that image again: as contents, as a query, and when the index is given another model", async () => {
  const from = await newIndex("small-clip");
  await from.upsert([
    { id: "red", contents: await file(red), keep: true },
    { id: "blue", contents: await file(blue), keep: true },
    { id: "fox", contents: "fox" },
  ]);
  const to = await newIndex("small-siglip", "other");
  expect(await reembed({ from, to })).toBe(3);
  expect(await nearest(to, "blue")).toBe("blue");
  expect(await nearest(to, "fox")).toBe("fox");
  const [{ contents }] = await to.get(["red"], { include: ["contents"] });
  expect(await nearest(to, contents as string)).toBe("red");
});

test("to a model of texts a data: URL is a text", async () => {
  const url = `data:image/png;base64,${Buffer.from(await file(red)).toString("base64")}`;
  const index = await newIndex("small-embedder");
  await index.upsert([{ id: "url", contents: url }]);
  expect(await index.get(["url"], { include: ["contents"] })).toEqual([{ id: "url", contents: url }]);
});

test("reranking leaves out images, and a query by an image", async () => {
  const index = await newIndex();
  await index.upsert([
    { id: "image", contents: await file(red), keep: true },
    { id: "text", contents: "red fox" },
  ]);
  const rerank = (_: string, texts: readonly string[]) => texts.map(() => 1);
  expect((await index.query({ queryContents: "red", rerank })).map(({ id }) => id)).toEqual(["text"]);
  const byImage = { queryContents: pixels(red), rerank } as unknown as { queryContents: string };
  await expect(index.query(byImage)).rejects.toThrow(/^rerank: requires queryContents to be a string/);
});

describe("what is no image is refused, by its position, and nothing is stored", () => {
  const svg = new TextEncoder().encode(
    `<svg xmlns="http://www.w3.org/2000/svg"><image href="/etc/passwd"/></svg>`,
  );
  const cases: readonly [string, () => Promise<unknown>, RegExp][] = [
    [
      "bytes",
      async () => new Uint8Array(100),
      /^items\[1\]\.contents: expected a PNG, JPEG, WebP or GIF file/,
    ],
    ["SVG", async () => svg, /expected a PNG, JPEG, WebP or GIF file/],
    ["no bytes", async () => new Uint8Array(), /expected a PNG, JPEG, WebP or GIF file/],
    ["a cut file", async () => (await file(red)).subarray(0, 40), /could not be decoded/],
    ["more pixels than fit into memory", async () => bomb(await file(red)), /got 60000 x 60000$/],
    ["no base64", async () => ({ base64: "!!!!" }), /expected base64$/],
    ["no file", async () => ({ path: join(folder, "none.png") }), /could not be read \(ENOENT\)$/],
    ["a folder", async () => ({ path: folder }), /expected the path of a file$/],
    ["too few pixels", async () => ({ ...pixels(red), data: new Uint8Array(3) }), /bytes of pixels/],
    ["no size", async () => ({ ...pixels(red), width: -12, height: -12 }), /got -12 x -12$/],
    [
      "another object",
      async () => ({}),
      /expected a vector, or contents to embed|expected a string or an image/,
    ],
  ];
  test.each(cases)("%s", async (_, contents, message) => {
    const index = await newIndex();
    const items = [
      { id: "good", contents: pixels(red) },
      { id: "bad", contents: (await contents()) as Image },
    ];
    await expect(index.upsert(items)).rejects.toMatchObject({ code: "invalid_request", message });
    expect(await index.count()).toBe(0);
  });

  function bomb(png: Uint8Array): Uint8Array {
    const bytes = png.slice();
    new DataView(bytes.buffer).setUint32(16, 60_000);
    new DataView(bytes.buffer).setUint32(20, 60_000);
    return bytes;
  }

  test("pixels that are to be kept, and `keep` without an image", async () => {
    const index = await newIndex();
    const upsert = (item: object) => index.upsert([{ id: "a", ...item }]);
    await expect(upsert({ contents: pixels(red), keep: true })).rejects.toThrow(/keep requires a file/);
    await expect(upsert({ contents: "text", keep: true })).rejects.toThrow(
      /^items\[0\]\.keep: expected contents/,
    );
    await expect(upsert({ contents: await file(red), keep: 5 })).rejects.toThrow(/^items\[0\]\.keep/);
  });

  test("any image, by a model of texts", async () => {
    for (const model of ["default", "small-embedder"]) {
      const index = await newIndex(model);
      await expect(index.upsert([{ id: "a", contents: await file(red) }])).rejects.toThrow(
        /embeds no images/,
      );
      await expect(index.query({ queryContents: await file(red) })).rejects.toThrow(/embeds no images/);
    }
  });
});

describe("in LangChain", () => {
  function newStore(embeddings: Embeddings | string = "small-clip"): EncryptedVectorStore {
    const store = new EncryptedVectorStore(embeddings, {
      indexName: "images",
      indexKey: generateKey(),
      indexLocation: { location: "memory" },
      models: { localFolder, offline: true },
    });
    open.push(store);
    return store;
  }

  test("a store adds images, and finds them by texts and by images", async () => {
    const store = newStore();
    const images = [await file(red), { path: await imagePath(green, "store.png") }, await file(blue)];
    const ids = await store.addImages(images, {
      ids: ["r", "g", "b"],
      metadatas: [{ n: 0 }, { n: 1 }, { n: 2 }],
      keep: ["a red one", "a green one", "a blue one"],
    });
    expect(ids).toEqual(["r", "g", "b"]);
    const [byText] = await store.similaritySearch("green", 1);
    expect(byText).toMatchObject({ id: "g", pageContent: "a green one", metadata: { n: 1 } });
    const [[byImage, score]] = await store.similaritySearchByImageWithScore(pixels(blue, 3), 1);
    expect(byImage.id).toBe("b");
    expect(score).toBeCloseTo(1, 5);
    expect(await store.similaritySearchByImage(pixels(red), 4, { n: { $gt: 1 } })).toMatchObject([
      { id: "b" },
    ]);
    await expect(store.addImages(images, { ids: ["x"] })).rejects.toThrow(
      /^ids: expected one for each of the 3/,
    );
  });

  test("documents may be kept images, and many images are stored in batches", async () => {
    const store = newStore();
    const stored: number[] = [];
    const images = Array.from({ length: 40 }, (_, i) => pixels([i, 255 - i, 0], 2));
    await store.addImages(images, { onProgress: (progress) => stored.push(progress.stored) });
    expect(stored).toEqual([32, 40]);
    await store.addImages([await file(blue)], { keep: true, ids: ["kept"] });
    const [document] = await store.similaritySearch("blue", 1);
    expect(document.pageContent).toMatch(/^data:image\/png;base64,/);
    const again = newStore();
    await again.addDocuments([document]);
    expect(await again.similaritySearchByImage(await file(blue), 1)).toMatchObject([{ id: "kept" }]);
  });

  test("SealdexEmbeddings embed images as LangChain's multimodal embeddings do", async () => {
    const embeddings = new SealdexEmbeddings({ model: "small-clip", localFolder, offline: true });
    const store = newStore(embeddings);
    const [vector] = await embeddings.embedImage([await file(red)]);
    await store.addVectors([vector], [{ pageContent: "red", metadata: {} }]);
    const [[{ pageContent }, score]] = await store.similaritySearchVectorWithScore(
      await embeddings.embedImageQuery(await file(red)),
      1,
    );
    expect([pageContent, score]).toEqual(["red", expect.closeTo(1, 5)]);
    expect(await store.addImages([await file(blue)])).toHaveLength(1);
  });

  test("multimodal embeddings of LangChain's are given the images' files, others are refused", async () => {
    const received: unknown[] = [];
    class Multimodal extends Embeddings {
      async embedDocuments(texts: string[]): Promise<number[][]> {
        return texts.map(() => [1, 0]);
      }
      async embedQuery(): Promise<number[]> {
        return [1, 0];
      }
      async embedImage(images: Buffer[]): Promise<number[][]> {
        received.push(...images.map((image) => image.toString("base64")));
        return images.map(() => [0, 1]);
      }
    }
    const bytes = await file(red);
    const store = newStore(new Multimodal({}));
    await store.addImages([bytes]);
    expect(received).toEqual([Buffer.from(bytes).toString("base64")]);
    const { embedImage: _, ...texts } = {
      embedImage: 0,
      embedDocuments: async () => [[1]],
      embedQuery: async () => [1],
    };
    await expect(newStore(texts as unknown as Embeddings).addImages([bytes])).rejects.toThrow(
      /embeds no images/,
    );
  });
});
