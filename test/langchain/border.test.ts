/** A store with a filter is a border: nothing beyond it is added, replaced or deleted, as nothing beyond it is found. */

import { describe, expect, test } from "vitest";
import {
  EncryptedSemanticCache,
  EncryptedVectorStore,
  generateKey,
  LexicalEmbeddings,
} from "../../src/index.js";
import { startBoth } from "../http/both-clients.js";
import { refusal } from "../outcome.js";

const { clients } = await startBoth();
let made = 0;
const embeddings = new LexicalEmbeddings({ dimension: 16 });
const gif = new Uint8Array(Buffer.from("R0lGODlhAQABAIAAAICAgAAAACwAAAAAAQABAAACAkQBADs=", "base64"));
const withImages = {
  embedQuery: (text: string) => embeddings.embedQuery(text),
  embedDocuments: (texts: string[]) => embeddings.embedDocuments(texts),
  embedImage: async (images: readonly unknown[]) => images.map(() => Array.from({ length: 16 }, () => 1)),
};
const document = (tenant: string, pageContent = "text") => ({ pageContent, metadata: { tenant } });

describe.each(Object.keys(clients))("%s", (where) => {
  async function stores() {
    const args = { indexName: `border ${made++}`, indexKey: generateKey(), client: clients[where] };
    const all = new EncryptedVectorStore(withImages as never, args);
    await all.addDocuments([document("B", "secret"), document("A")], { ids: ["b", "a"] });
    const mine = new EncryptedVectorStore(withImages as never, { ...args, filter: { tenant: "A" } });
    const state = async () =>
      (await all.getByIds(["a", "b", "c", "new"])).map(({ id, pageContent, metadata }) =>
        [id, pageContent, metadata.tenant].join(":"),
      );
    return { all, mine, state, before: await state() };
  }

  test("a batch with a document that the filter does not match is refused whole", async () => {
    const { mine, state, before } = await stores();
    const planted = mine.addDocuments([document("A"), document("B")], { ids: ["new", "c"] });
    await expect(planted).rejects.toMatchObject(refusal("forbidden", /^documents\[1\]: /));
    const vectors = [Array.from({ length: 16 }, () => 1)];
    await expect(mine.addVectors(vectors, [document("B")])).rejects.toMatchObject({ code: "forbidden" });
    await expect(mine.addTexts(["text"], { tenant: "B" })).rejects.toMatchObject({ code: "forbidden" });
    // However many are before it.
    const many = Array.from({ length: 600 }, (_, i) => document(i < 599 ? "A" : "B"));
    await expect(mine.addDocuments(many)).rejects.toThrow(/^documents\[599\]: /);
    expect(await mine.count()).toBe(1);
    expect(await state()).toEqual(before);
  });

  test("a batch with the id of an item that the filter does not match is refused whole", async () => {
    const { mine, state, before } = await stores();
    for (const options of [{}, { skipUnchanged: true }, { deleteFilter: { tenant: "A" } }]) {
      const replacing = mine.addDocuments([document("A", "new"), document("A", "overwritten")], {
        ids: ["new", "b"],
        ...options,
      });
      await expect(replacing).rejects.toMatchObject(refusal("forbidden", /^documents\[1\]\.id: /));
      expect(await state()).toEqual(before);
    }
    await mine.addDocuments([document("A", "mine")], { ids: ["a"] });
    expect(await state()).toEqual(["a:mine:A", "b:secret:B"]);
  });

  test("a batch that replaces others deletes none beyond the filter", async () => {
    const { mine, state } = await stores();
    await mine.addDocuments([document("A", "new")], {
      ids: ["new"],
      deleteFilter: { tenant: { $in: ["A", "B"] } },
    });
    expect(await state()).toEqual(["b:secret:B", "new:new:A"]);
  });

  test("deletions, images and cached answers keep to it, too", async () => {
    const { mine, state, before } = await stores();
    await mine.delete({ ids: ["b"] });
    await mine.delete({ filter: { tenant: "B" } });
    expect(await state()).toEqual(before);
    if (where === "embedded") {
      await expect(mine.addImages([gif], { metadatas: { tenant: "B" } })).rejects.toThrow(/^images\[0\]: /);
      const replacing = mine.addImages([gif, gif], { metadatas: { tenant: "A" }, ids: ["new", "b"] });
      await expect(replacing).rejects.toMatchObject(refusal("forbidden", /^images\[1\]\.id: /));
    }
    const cache = new EncryptedSemanticCache(mine);
    await expect(cache.update("prompt", "model", [{ text: "answer" }])).rejects.toMatchObject({
      code: "forbidden",
    });
    expect(await state()).toEqual(before);
  });

  test("it holds beside another writer who takes the id meanwhile", async () => {
    const { all, mine } = await stores();
    const ids = Array.from({ length: 20 }, (_, i) => `taken ${i}`);
    const outcomes = await Promise.all(
      ids.flatMap((id) => [
        all.addDocuments([document("B", "theirs")], { ids: [id] }),
        mine.addDocuments([document("A", "mine")], { ids: [id] }).catch((error: unknown) => error),
      ]),
    );
    const refused = outcomes.filter((outcome) => outcome instanceof Error);
    for (const error of refused) expect(error).toMatchObject({ code: "forbidden" });
    // Whoever came first: theirs replaces ours, and ours never replaces theirs.
    const found = await all.getByIds(ids);
    expect(found.map(({ metadata }) => metadata.tenant)).toEqual(ids.map(() => "B"));
  });
});
