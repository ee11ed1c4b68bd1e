/** The semantic cache's default answers what asks the same, and nothing that asks something else. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import {
  EncryptedSemanticCache,
  EncryptedVectorStore,
  LexicalEmbeddings,
  SealdexEmbeddings,
} from "../../src/index.js";
import { modelFolder } from "../embedding/reference-data.js";

const same = [
  ["What is the capital of France?", "what is the capital of france"],
  ["What is the capital of France?", "What's the capital of France?"],
  ["How do I reset my password?", "How can I reset my password?"],
  ["How do salmon find their river?", "How do salmon find the river?"],
  ["Is the museum free for children?", "is the museum free for children"],
  ["Can I pay by card?", "Can I pay by card"],
  ["Can I pay by card?", "Could I pay by card?"],
  ["Where is my order?", "Where's my order?"],
  ["What does error E1047 mean?", "What does the error E1047 mean?"],
  ["Which plan includes phone support?", "which plan includes phone support ?"],
  ["Who wrote Hamlet?", "Who is the author of Hamlet?"],
  ["When does the shop open on Sunday?", "At what time does the shop open on Sundays?"],
];

const different = [
  ["Can I pay by card?", "Can I not pay by card?"],
  ["Is parking allowed here?", "Is parking not allowed here?"],
  ["Which drugs are safe in pregnancy?", "Which drugs are not safe in pregnancy?"],
  ["Should I take aspirin with ibuprofen?", "Shouldn't I take aspirin without ibuprofen?"],
  ["Which countries are in the EU?", "Which countries are not in the EU?"],
  ["Who can open the vault?", "Who can’t open the vault?"],
  ["Darf ich hier parken?", "Darf ich hier nicht parken?"],
  ["What is 2 + 2?", "What is 2 + 3?"],
  ["What is the population of France in 2010?", "What is the population of France in 2020?"],
  ["What does error E1047 mean?", "What does error E1048 mean?"],
  ["Summarize page 12 of the contract.", "Summarize page 21 of the contract."],
  ["What is the dose for a child of 5 kg?", "What is the dose for a child of 50 kg?"],
  ["What changed in version 1.2.3?", "What changed in version 1.3.2?"],
  ["What is the square root of 4?", "What is the square root of -4?"],
  ["What is the square root of 4?", "What is the square root of - 4?"],
  ["What is the square root of 4?", "What is the square root of –4?"],
  ["What is 5?", "What is 5!?"],
  ["What does a b return?", "What does a_b return?"],
  ["What is 5 times 10?", "What is .5 times 10?"],
  ["What is 10 ** 2?", "What is 10 * 2?"],
  ["Is (1 + 2) * 3 nine?", "Is 1 + (2 * 3) nine?"],
  ["What does the operator == do?", "What does the operator != do?"],
  ["What does 👍 mean?", "What does 👎 mean?"],
  ["Is p ∧ q true?", "Is p ∨ q true?"],
  ["Convert 10 miles to kilometers", "Convert 10 kilometers to miles"],
  ["Flights from Rome to Oslo", "Flights from Oslo to Rome"],
  ["Is Anna the manager of Ben?", "Is Ben the manager of Anna?"],
  ["What is the capital of France?", "What is the capital of Spain?"],
  ["How do I reset my password?", "How do I reset my username?"],
  ["Who wrote Hamlet?", "Who wrote Macbeth?"],
  ["When does the shop open on Sunday?", "When does the shop open on Monday?"],
  ["When does the shop open on Sunday?", "When does the shop close on Sunday?"],
  ["How do I enable backups?", "How do I disable backups?"],
  ["Which is the largest planet?", "Which is the smallest planet?"],
  ["Did the stock rise last week?", "Did the stock fall last week?"],
  ["How do salmon find their river?", "How do salmon leave their river?"],
];

const models = [
  { name: "the built-in model", open: () => new SealdexEmbeddings(), answered: 7 },
  { name: "the model without meaning", open: () => new LexicalEmbeddings(), answered: 7 },
  {
    name: "all-MiniLM-L6-v2",
    open: () => new SealdexEmbeddings({ model: "all-MiniLM-L6-v2", localFolder: modelFolder }),
    answered: 8,
  },
];

const present = models.filter(({ name }) => !name.startsWith("all") || existsSync(join(modelFolder, name)));

describe.each(present)("with $name", ({ open, answered }) => {
  test("answers most questions that are put in other words, and no other question", async () => {
    await using store = new EncryptedVectorStore(open(), {
      indexName: "cache",
      indexKey: generateKey(),
      indexLocation: { location: "memory" },
    });
    const cache = new EncryptedSemanticCache(store);
    const isAnswered = async ([first, second]: readonly string[], i: number) => {
      const system = `System: You are a careful assistant of shop ${i}, and answer in one sentence, politely.\nHuman: `;
      await cache.update(system + first, "model", [{ text: first }]);
      return (await cache.lookup(system + second, "model")) !== null;
    };
    let count = 0;
    for (const [i, pair] of same.entries()) if (await isAnswered(pair, i)) count++;
    expect(count).toBeGreaterThanOrEqual(answered);
    for (const [i, pair] of different.entries()) {
      for (const [k, each] of [pair, pair.toReversed()].entries()) {
        expect(await isAnswered(each, 1000 * (k + 1) + i), each.join(" / ")).toBe(false);
      }
    }
  });
});
