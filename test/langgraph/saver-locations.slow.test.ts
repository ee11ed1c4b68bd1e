/** LangGraph's own suite for checkpointers, on local files and on servers. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { validate } from "@langchain/langgraph-checkpoint-validation";
import * as vitest from "vitest";
import { generateKey, type StorageLocation } from "../../src/index.js";
import { EncryptedSaver } from "../../src/langchain/langgraph/encrypted-saver.js";
import { provideGlobals } from "./validation-suite.js";

const servers = vitest.inject("servers");
const path = `threads_${process.pid}_${Date.now()}`;
const folder = await mkdtemp(join(tmpdir(), "sealdex-test-"));
vitest.afterAll(() => rm(folder, { recursive: true }));
const places: readonly (readonly [string, StorageLocation | undefined])[] = [
  ["local", { location: "local", path: folder }],
  [
    "redis",
    servers.redis === undefined ? undefined : { location: "redis", connectionString: servers.redis, path },
  ],
  [
    "postgres",
    servers.postgres === undefined
      ? undefined
      : { location: "postgres", connectionString: servers.postgres, tableName: path },
  ],
];

provideGlobals();
let made = 0;

for (const [name, indexLocation] of places) {
  if (indexLocation === undefined) continue;
  validate({
    checkpointerName: `EncryptedSaver on ${name}`,
    createCheckpointer: () =>
      new EncryptedSaver({ indexName: `threads ${made++}`, indexKey: generateKey(), indexLocation }),
    destroyCheckpointer: (saver) => saver.stop(),
  });
}
