// Words and meaning: a question that vectors miss, one that words miss, and a search by both that answers the two.
//
// Run: node hybrid.mjs        Needs: npm install sealdex

import { createClient, generateKey } from "sealdex/core";

// In memory, the key may end with the process. For an index that lasts: fileKey("./notes.key", { create: true })
const indexKey = generateKey();
const client = createClient({ indexLocation: { location: "memory" } });
const index = await client.createIndex({
  indexName: "manual",
  indexKey,
  metric: "cosine",
  embeddingModel: "default",
  textIndex: true,
});
await index.upsert([
  {
    id: "backup",
    contents:
      "During the move to the new office the nightly backup of the archive stopped with E1047. All folders were copied by hand, which " +
      "took two people the whole weekend.",
  },
  { id: "E1048", contents: "E1048 means that the disk cannot be read." },
  { id: "E1049", contents: "E1049 means that the disk is full." },
  { id: "invoices", contents: "An invoice is sent to you by mail each month." },
  { id: "parking", contents: "Our drivers park their automobiles behind the building." },
  { id: "holidays", contents: "Holidays are planned in spring, together with your team." },
]);

const first = (matches) => matches[0]?.id ?? "nothing";
for (const question of ["When did we have E1047?", "Where can I leave my car?"]) {
  console.log(question);
  console.log("  vectors:", first(await index.query({ queryContents: question })));
  console.log("  words:  ", first(await index.query({ queryText: question })));
  console.log("  both:   ", first(await index.query({ queryText: question, queryContents: question })));
}
await client.close();
