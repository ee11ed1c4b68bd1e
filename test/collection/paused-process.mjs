// A process that creates a collection, or splits its shards, until it has made so many calls to storage: then it says so, and waits to
// be killed. Uses the build.

import { writeSync } from "node:fs";
import { createClient } from "sealdex/core";
import { createLocalStore } from "../../dist/esm/storage/local.js";

const { method, path, indexName, indexKey, shards, calls } = JSON.parse(process.argv[2]);
const store = createLocalStore({ path });
let left = calls;
const counted =
  (call) =>
  async (...args) => {
    if (left-- === 0) {
      writeSync(1, "paused\n");
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    }
    return call(...args);
  };
const indexLocation = {
  read: counted(store.read.bind(store)),
  create: counted(store.create.bind(store)),
  list: counted(store.list.bind(store)),
  delete: counted(store.delete.bind(store)),
  close: () => store.close(),
};
const client = createClient({ indexLocation });
await client[method]({ indexName, indexKey, shards });
writeSync(1, "done\n");
process.exit(0);
