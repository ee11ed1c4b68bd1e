/** Configurations that createIndex refuses. */

import { expect, test } from "vitest";
import { createClient, generateKey } from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";

test.each([
  [
    { type: "ivfflat", precision: "int4" },
    /^indexConfig\.precision: expected one of float32, float16, int8, got "int4"/,
  ],
  [{ type: "ivfflat", precision: 8 }, /^indexConfig\.precision: .*got number/],
  [
    { type: "ivf", precision: "float16" },
    /^indexConfig\.precision: expected none, since only ivfflat has it/,
  ],
  [{ type: "ivfpq", precision: "float32" }, /^indexConfig\.precision: expected none/],
  [{ type: "ivfflat", spilling: "no" }, /^indexConfig\.spilling: expected a boolean, got string/],
  [{ type: "ivfflat", spilling: 0 }, /^indexConfig\.spilling: expected a boolean, got number/],
  [{ type: "ivfflat", spilling: null }, /^indexConfig\.spilling: expected a boolean, got null/],
  [{ type: "ivf", spilling: false }, /^indexConfig\.spilling: expected none, since only ivfflat has it/],
  [{ type: "ivf", spilling: true }, /^indexConfig\.spilling: expected none/],
  [{ type: "ivfpq", spilling: false }, /^indexConfig\.spilling: expected none/],
])("%j is refused", async (indexConfig, message) => {
  await using client = createClient({ indexLocation: createMemoryStore() });
  const creating = client.createIndex({
    indexName: "no",
    indexKey: generateKey(),
    indexConfig: indexConfig as never,
  });
  await expect(creating).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringMatching(message),
  });
});
