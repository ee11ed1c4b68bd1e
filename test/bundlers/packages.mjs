/** A user's app with optional packages: storage on servers, and embedding models. */

import { createClient, generateKey } from "sealdex/core";

const text = "Keys are rotated every year.";

/**
 * What each step comes to: "found", or the error. A step has the options of a client and, if it creates an index,
 * those of the index; without them it lists the indexes. `expected` is a regular expression. Groups of steps run one
 * after the other, the steps of a group together.
 */
export async function runWithPackages(groups) {
  const outcomes = [];
  for (const steps of groups) outcomes.push(...(await Promise.all(steps.map(runStep))));
  return { ok: outcomes.every(({ isRight }) => isRight), outcomes };
}

async function runStep({ client: options, index, expected }) {
  const client = createClient(options);
  const outcome = await (index === undefined ? client.listIndexes() : storeAndFind(client, index)).then(
    () => "found",
    ({ code, message }) => `${code}: ${message}`,
  );
  await client.close();
  return { outcome, isRight: new RegExp(expected).test(outcome) };
}

async function storeAndFind(client, options) {
  const indexName = `bundled-${process.pid}-${Date.now()}`;
  const indexKey = generateKey();
  const index = await client.createIndex({ indexName, indexKey, metric: "cosine", ...options });
  const isEmbedded = options.embeddingModel !== undefined;
  const contents = [text, "Salmon swim upstream."];
  await index.upsert(
    contents.map((content, i) => ({ id: `${i}`, contents: content, ...(!isEmbedded && { vector: [1, i] }) })),
  );
  const query = isEmbedded ? { queryContents: text } : { queryVector: [1, 0] };
  const [match] = await index.query({ ...query, topK: 1, include: ["contents"] });
  await client.deleteIndex({ indexName, indexKey });
  if (match.contents !== text) throw new Error("the nearest item is another one");
}
