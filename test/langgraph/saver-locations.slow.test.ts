/** LangGraph's own suite for checkpointers, on every location. */

import { validate } from "@langchain/langgraph-checkpoint-validation";
import * as vitest from "vitest";
import { generateKey } from "../../src/index.js";
import { EncryptedSaver } from "../../src/langchain/langgraph/encrypted-saver.js";
import { locationNames, prepareLocation } from "../protocol/locations.js";
import { provideGlobals } from "./validation-suite.js";

provideGlobals();
let made = 0;

for (const name of locationNames) {
  const { location: indexLocation, empty } = await prepareLocation(name);
  vitest.afterAll(empty);
  validate({
    checkpointerName: `EncryptedSaver on ${name}`,
    createCheckpointer: () =>
      new EncryptedSaver({ indexName: `threads ${made++}`, indexKey: generateKey(), indexLocation }),
    destroyCheckpointer: (saver) => saver.stop(),
  });
}
