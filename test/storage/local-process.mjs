// A process of its own with a local store in the folder given. By message it creates, and answers with who
// won; or it creates blobs until it is killed, and reports each that was acknowledged.

import { createLocalStore } from "../../dist/esm/storage/local.js";

const store = createLocalStore({ path: process.argv[2] });

async function createForever(writer) {
  for (let i = 0; ; i++) {
    const key = `w${writer}/${i}`;
    await store.create(key, Buffer.alloc(200_000, key));
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
