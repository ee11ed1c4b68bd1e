import { SelfQueryRetriever } from "@langchain/classic/retrievers/self_query";
import { Document } from "@langchain/core/documents";
import { RunnableLambda } from "@langchain/core/runnables";
import {
  BasicTranslator,
  Comparators,
  Comparison,
  type FilterDirective,
  Operation,
  Operators,
  StructuredQuery,
} from "@langchain/core/structured_query";
import { describe, expect, test } from "vitest";
import {
  createClient,
  EncryptedVectorStore,
  type Filter,
  generateKey,
  LexicalEmbeddings,
  SealdexTranslator,
} from "../../src/index.js";

const compare = (comparator: string, attribute: string, value: string | number) =>
  new Comparison(Comparators[comparator], attribute, value);
const operate = (operator: string, ...parts: FilterDirective[]) => new Operation(Operators[operator], parts);

const films = [
  { title: "one", year: 1999, code: "2020", tenant: "a" },
  { title: "two", year: 2020, code: "1999", tenant: "a" },
  { title: "three", year: 2020, code: "2020", tenant: "b" },
  { title: "four", year: 2021, code: "x", tenant: "a" },
];

/** A retriever over the films whose model answers with `filter`; its results, by title. */
async function found(
  filter: FilterDirective | undefined,
  searchParams: SelfQueryRetriever<EncryptedVectorStore>["searchParams"] = {},
  translator = new SealdexTranslator(),
): Promise<string[]> {
  const store = await EncryptedVectorStore.fromDocuments(
    films.map((metadata) => new Document({ pageContent: `film ${metadata.title}`, metadata })),
    new LexicalEmbeddings(),
    {
      indexName: "films",
      indexKey: generateKey(),
      client: createClient({ indexLocation: { location: "memory" } }),
    },
  );
  const retriever = new SelfQueryRetriever({
    vectorStore: store,
    structuredQueryTranslator: translator,
    queryConstructor: RunnableLambda.from(async () => new StructuredQuery("film", filter)),
    searchParams: { k: 9, ...searchParams },
  });
  return (await retriever.invoke("films?")).map(({ metadata }) => metadata.title as string).sort();
}

test("translates comparisons and operations", async () => {
  expect(await found(compare("gte", "year", 2020))).toEqual(["four", "three", "two"]);
  expect(await found(compare("ne", "year", 2020))).toEqual(["four", "one"]);
  const both = operate("and", compare("gt", "year", 1999), compare("lt", "year", 2021));
  expect(await found(both)).toEqual(["three", "two"]);
  expect(await found(operate("or", both, compare("eq", "title", "four")))).toEqual(["four", "three", "two"]);
  expect(await found(operate("and"))).toHaveLength(4);
});

test("a text that looks like a number stays a text, and matches the number as well", async () => {
  expect(await found(compare("eq", "code", "2020"))).toEqual(["one", "three"]);
  expect(await found(compare("eq", "year", "2020"))).toEqual(["three", "two"]);
  expect(await found(compare("ne", "code", "2020"))).toEqual(["four", "two"]);
  expect(await found(compare("gte", "code", "2020"))).toEqual(["four", "one", "three"]);
  expect(await found(compare("lt", "year", "2020"))).toEqual(["one"]);
  expect(await found(compare("eq", "code", 2020))).toEqual([]);
  for (const text of ["NaN", "Infinity", "1e3", "0x10", " 1", ""]) {
    expect(await found(compare("eq", "code", text))).toEqual([]);
  }
});

describe("the default filter", () => {
  const tenant: Filter = { tenant: "a" };

  test("stays where the model gives no filter, which LangChain's own translator drops", async () => {
    expect(await found(undefined, { filter: tenant })).toEqual(["four", "one", "two"]);
    expect(await found(operate("and"), { filter: tenant })).toEqual(["four", "one", "two"]);
    const theirs = new BasicTranslator<EncryptedVectorStore>() as unknown as SealdexTranslator;
    expect(await found(undefined, { filter: tenant }, theirs)).toHaveLength(4);
  });

  test("stays beside whatever the model gives", async () => {
    const code = compare("eq", "code", "2020");
    expect(await found(code, { filter: tenant })).toEqual(["one"]);
    expect(await found(operate("or", compare("eq", "tenant", "b"), code), { filter: tenant })).toEqual([
      "one",
    ]);
    const forced = { filter: tenant, mergeFiltersOperator: "replace", forceDefaultFilter: true } as const;
    expect(await found(code, forced)).toEqual(["one"]);
    const complete = { $and: [tenant, { title: { $exists: true }, nobody: { $exists: false } }] };
    expect(await found(code, { filter: complete })).toEqual(["one"]);
    expect(await found(code, { filter: { nobody: { $exists: true } } })).toEqual([]);
  });

  test("gives way only to who asks for it", async () => {
    const code = compare("eq", "code", "2020");
    expect(await found(code, { filter: tenant, mergeFiltersOperator: "replace" })).toEqual(["one", "three"]);
    expect(await found(undefined, { filter: tenant, mergeFiltersOperator: "replace" })).toHaveLength(3);
    expect(await found(code, { filter: tenant, mergeFiltersOperator: "or" })).toHaveLength(4);
    expect(await found(code, { mergeFiltersOperator: "or" })).toEqual(["one", "three"]);
    await expect(found(code, { filter: tenant, mergeFiltersOperator: "xor" as never })).rejects.toMatchObject(
      {
        code: "invalid_request",
      },
    );
  });
});

test("an operator that filters do not have is an error", async () => {
  await expect(found(operate("not", compare("eq", "year", 2020)))).rejects.toMatchObject({
    code: "invalid_request",
  });
  await expect(found(new Comparison("contain" as never, "title", "o"))).rejects.toMatchObject({
    code: "invalid_request",
  });
});
