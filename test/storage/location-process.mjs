// A process of its own with a store at the location that it is told. By message it creates, and answers with who won;
// or it creates blobs until it is killed, and reports each that was acknowledged.

import { openLocation } from "../../dist/esm/storage/location.js";

const store = openLocation(JSON.parse(process.env.SEALDEX_TEST_LOCATION));

async function createForever(writer) {
  for (let i = 0; ; i++) {
    const key = `w${writer}/${i}`;
    await store.create(key, Buffer.alloc(50_000, key));
    process.send({ created: key });
  }
}

process.on("message", async ({ call, key, contents, writers }) => {
  if (writers !== undefined) {
    for (let writer = 0; writer < writers; writer++) void createForever(writer);
    return;
  }
  const won = await Promise.all(contents.map((bytes) => store.create(key, bytes)));
  process.send({ call, won });
});
