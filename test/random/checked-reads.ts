/** Random reads of an index, each of whose answers must be that of the plain index. */

import type { QueryOptions, VectorIndex } from "../../src/core.js";
import { checkItem, checkMatches } from "./answers.js";
import type { Choice } from "./choice.js";
import { randomFilter } from "./documents.js";
import type { PlainIndex, PlainItem } from "./plain-index.js";
import type { RandomItems } from "./random-items.js";

export const everyList = Number.MAX_SAFE_INTEGER;
/** Beyond these, a batch of queries takes so long that a history has few other calls. */
const manyItems = 1000;

export async function checkQuery(
  index: VectorIndex,
  plain: PlainIndex,
  random: RandomItems,
  choice: Choice,
): Promise<void> {
  const topK = choice.of([0, 1, 2, 5, 20, 100, 10_000]);
  const probing = choice.of<Pick<QueryOptions, "nProbes" | "greedy">>([
    { nProbes: everyList },
    { nProbes: 0 },
    { nProbes: 1 },
    {},
    { greedy: true },
  ]);
  const documents = [...plain.items.values()].map(({ metadata }) => metadata);
  const filtered = choice.chance(0.5) && documents.length > 0 ? randomFilter(choice, documents) : undefined;
  const filter = filtered?.filter;
  const most = plain.items.size > manyItems ? 3 : 70;
  const vectors = choice.list(choice.chance(0.8) ? 1 : choice.below(most), () => random.vector());
  const fields = (["distance", "vector", "decoded", "contents", "metadata"] as const).filter(() =>
    choice.chance(0.5),
  );
  const include = plain.isExact ? fields : fields.filter((field) => field !== "vector");
  const options = { topK, ...probing, include, ...(filter && { filter }) };
  const single = vectors.length === 1 && choice.chance(0.7);
  const results = single
    ? [await index.query({ queryVector: vectors[0], ...options })]
    : await index.query({ queryVectors: vectors, ...options });
  const matching = plain.matching(filtered?.matches ?? (() => true));
  if (results.length !== vectors.length)
    throw new Error(`${results.length} results of ${vectors.length} queries`);
  const isExhaustive = !plain.trained || probing.nProbes === everyList || probing.greedy === true;
  const isCompared = filter !== undefined && plain.comparesMatches;
  const isNearest = plain.isExact && (isExhaustive || isCompared);
  const isFull = isExhaustive || isNearest || probing.nProbes === 0;
  results.forEach((found, i) => {
    const asked = { topK, include, isFull, isNearest, filter };
    checkMatches(plain, Float32Array.from(vectors[i]), found, matching, asked);
  });
}

export async function checkGet(
  index: VectorIndex,
  plain: PlainIndex,
  random: RandomItems,
  choice: Choice,
): Promise<void> {
  const ids = choice.list(choice.below(12), () => random.id());
  const include = choice.of([undefined, [], ["contents"], ["metadata", "decoded"]] as const);
  const found = await index.get(ids, include && { include });
  const expected = ids.flatMap((id) => plain.items.get(id) ?? []);
  if (found.length !== expected.length) throw new Error(`got ${found.length} items of ${expected.length}`);
  found.forEach((item, i) =>
    checkItem(plain, item, expected[i], include ?? ["vector", "contents", "metadata"]),
  );
}

/** Counts, pages of ids, the description. */
export async function checkOutline(
  index: VectorIndex,
  plain: PlainIndex,
  random: RandomItems,
  choice: Choice,
): Promise<void> {
  const count = await index.count();
  if (count !== plain.items.size) throw new Error(`count ${count} of ${plain.items.size}`);
  const limit = choice.of([0, 1, 7, 1000, Number.MAX_SAFE_INTEGER]);
  const after = choice.chance(0.5) ? random.id() : undefined;
  const ids = await index.listIds({ limit, ...(after !== undefined && { after }) });
  const expected = plain
    .ids()
    .filter((id) => after === undefined || id > after)
    .slice(0, limit);
  if (JSON.stringify(ids) !== JSON.stringify(expected))
    throw new Error(`ids ${ids.join()} of ${expected.join()}`);
  const { type, metric, dimension, trained } = await index.describe();
  const { config, dimension: decided } = plain;
  const described = [config.type, plain.metric, decided, plain.trained];
  if (JSON.stringify([type, metric, dimension, trained]) !== JSON.stringify(described)) {
    throw new Error(`described as ${JSON.stringify([type, metric, dimension, trained])}`);
  }
}

/** The items that match a filter: counted, as ids, and page by page, whatever is written between two pages. */
export async function checkListing(
  index: VectorIndex,
  plain: PlainIndex,
  choice: Choice,
  write: () => Promise<void>,
): Promise<void> {
  const documents = [...plain.items.values()].map(({ metadata }) => metadata);
  if (documents.length === 0) return;
  const { filter, matches } = randomFilter(choice, documents);
  const matching = new Map(plain.matching(matches).map((item) => [item.id, item]));
  const expected = [...matching.keys()].sort();
  const count = await index.count({ filter });
  if (count !== expected.length) throw new Error(`count ${count} of ${expected.length} that match`);
  const ids = await index.listIds({ filter });
  if (ids.join("\n") !== expected.join("\n")) throw new Error(`ids ${ids.join()} of ${expected.join()}`);
  const include = plain.isExact
    ? (["contents", "metadata", "vector"] as const)
    : (["contents", "metadata"] as const);
  const limit = choice.of([1, 3, 40, 1000]);
  const listed: string[] = [];
  for (let page = await index.listItems({ filter, limit, include }); ;) {
    if (page.items.length > limit) throw new Error(`${page.items.length} items in a page of ${limit}`);
    for (const item of page.items) {
      listed.push(item.id);
      checkItem(plain, item, matching.get(item.id) as PlainItem, include);
    }
    if (page.cursor === undefined) break;
    if (choice.chance(0.1)) await write();
    page = await index.listItems({ filter, limit, include, cursor: page.cursor });
  }
  if (listed.join("\n") !== expected.join("\n"))
    throw new Error(`listed ${listed.join()} of ${expected.join()}`);
}

/** Every item with all that it has. */
export async function checkItems(index: VectorIndex, plain: PlainIndex): Promise<void> {
  const items = await index.get(plain.ids());
  if (items.length !== plain.items.size) throw new Error(`${items.length} items of ${plain.items.size}`);
  const include = ["vector", "contents", "metadata"];
  for (const item of items) checkItem(plain, item, plain.items.get(item.id) as PlainItem, include);
}

/** A thousand queries for as many items as a query may ask for, and a filter with as many values as one may have. */
export async function checkAtLimits(
  index: VectorIndex,
  plain: PlainIndex,
  random: RandomItems,
  choice: Choice,
): Promise<void> {
  const vectors = choice.list(1000, () => random.vector());
  const matching = plain.matching(() => true);
  const results = await index.query({ queryVectors: vectors, topK: 10_000, nProbes: everyList });
  const asked = { topK: 10_000, include: ["distance"], filter: undefined, isFull: true, isNearest: false };
  results.forEach((found, i) => checkMatches(plain, Float32Array.from(vectors[i]), found, matching, asked));
  const values = choice.list(10_000, (i) => i);
  await index.query({
    queryVector: vectors[0],
    filter: { $or: [{ n: { $in: values } }, { a: { $nin: values } }] },
  });
}
