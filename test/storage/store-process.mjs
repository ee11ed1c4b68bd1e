// A process of its own with a store at the location given. By message it creates, and answers with who won;
// or it creates blobs until it is killed, and reports each that was acknowledged.

import { openLocation } from "../../dist/esm/storage/location.js";

const store = openLocation(JSON.parse(process.argv[2]));

async function createForever(writer) {
  for (let i = 0; ; i++) {
    const key = `w${writer}/${i}`;
    await store.create(key, Buffer.alloc(200_000, key));
    process.send({ created: key });
  }
}

process.on("message", (message) => void carryOut(message));

async function carryOut({ call, key, contents, writers }) {
  if (writers !== undefined) {
    for (let writer = 0; writer < writers; writer++) void createForever(writer);
    return;
  }
  const won = await Promise.all(contents.map((bytes) => store.create(key, bytes)));
  process.send({ call, won });
}
