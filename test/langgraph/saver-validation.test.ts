/** LangGraph's own suite for checkpointers. */

import { validate } from "@langchain/langgraph-checkpoint-validation";
import { generateKey } from "../../src/index.js";
import { EncryptedSaver } from "../../src/langchain/langgraph/encrypted-saver.js";
import { provideGlobals } from "./validation-suite.js";

provideGlobals();
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
