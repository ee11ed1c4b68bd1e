/** LangGraph's own suite for checkpointers. */

import { validate } from "@langchain/langgraph-checkpoint-validation";
import * as vitest from "vitest";
import { generateKey } from "../../src/index.js";
import { EncryptedSaver } from "../../src/langchain/langgraph/encrypted-saver.js";

/** Every step stores the whole state, as LangGraph's `MemorySaver` does, for which the suite skips this test. */
const failing = "should only store channel_values that have changed (based on newVersions)";
const it = new Proxy(vitest.it, {
  apply: (runner, _, [name, ...rest]: [string, () => Promise<void>]) =>
    (name === failing ? runner.fails : runner)(name, ...rest),
});

// The suite expects the functions of its runner as globals.
Object.assign(globalThis, { ...vitest, it });
let made = 0;

validate({
  checkpointerName: "EncryptedSaver",
  createCheckpointer: () =>
    new EncryptedSaver({
      indexName: `threads ${made++}`,
      indexKey: generateKey(),
      indexLocation: { location: "memory" },
    }),
  destroyCheckpointer: (saver) => saver.stop(),
});
