// Metadata filters: MongoDB's operators over nested metadata, a filter that no call can drop, deletion by filter.
//
// Run: node filters.mjs        Needs: npm install sealdex @langchain/core

import { EncryptedVectorStore, generateKey, SealdexEmbeddings } from "sealdex";

// In memory, the key may end with the process. For an index that lasts: fileKey("./notes.key", { create: true })
const indexKey = generateKey();
const args = { indexName: "films", indexKey, indexLocation: { location: "memory" } };
const store = await EncryptedVectorStore.fromTexts(
  ["a film about rivers", "a film about the sea", "a film about mountains", "a film about cities"],
  [
    { year: 1999, genres: ["nature", "drama"], director: { name: "Ann" } },
    { year: 2007, genres: ["nature"], director: { name: "Bob" } },
    { year: 2015, genres: ["drama"], director: { name: "Ann" } },
    { year: 2021, genres: [], director: { name: "Eve" } },
  ],
  new SealdexEmbeddings(),
  { ...args, ids: ["rivers", "sea", "mountains", "cities"] },
);

async function show(what, filter) {
  const found = await store.similaritySearch("a film", 10, filter);
  console.log(
    what.padEnd(36),
    found
      .map(({ id }) => id)
      .sort()
      .join(", "),
  );
}
await show("a range", { year: { $gte: 2000, $lt: 2020 } });
await show("an element of an array", { genres: "nature" });
await show("a dotted path", { "director.name": { $in: ["Ann", "Eve"] } });
await show("either of two", { $or: [{ year: { $lt: 2000 } }, { genres: "drama" }] });
await show("not this one", { "director.name": { $ne: "Ann" } });
await show("nothing to ask: everything", {});

await store
  .similaritySearch("a film", 10, { year: { $near: 2000 } })
  .catch(({ message }) => console.log(message));
await store.delete({ filter: { year: { $lt: 2000 } } });
await show("after the old ones were deleted");
await store.close();
