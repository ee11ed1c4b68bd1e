// Self-query: a model turns a question into a search and a filter. The tenant's filter stays whatever the model says.
//
// Run: node self-query.mjs        Needs: npm install sealdex @langchain/core @langchain/classic

import { SelfQueryRetriever } from "@langchain/classic/retrievers/self_query";
import { Comparison, Operation, StructuredQuery } from "@langchain/core/structured_query";
import { RunnableLambda } from "@langchain/core/runnables";
import { EncryptedVectorStore, generateKey, SealdexEmbeddings, SealdexTranslator } from "sealdex";

// In memory, the key may end with the process. For an index that lasts: fileKey("./notes.key", { create: true })
const indexKey = generateKey();
const vectorStore = await EncryptedVectorStore.fromTexts(
  ["a film about rivers", "a film about the sea", "a film about mountains"],
  [
    { title: "Rivers", year: 1999, tenant: "ann" },
    { title: "The sea", year: 2007, tenant: "ann" },
    { title: "Mountains", year: 2015, tenant: "bob" },
  ],
  new SealdexEmbeddings(),
  { indexName: "films", indexKey, indexLocation: { location: "memory" } },
);

// Stands for a model, and runs without a network. With a real one, and npm install peggy:
// const retriever = SelfQueryRetriever.fromLLM({ llm, vectorStore, documentContents: "films", attributeInfo, structuredQueryTranslator, searchParams });
const queryConstructor = RunnableLambda.from(({ query }) => {
  const [, year] = /since (\d+)/.exec(query) ?? [];
  const filter = year && new Operation("and", [new Comparison("gte", "year", Number(year))]);
  return new StructuredQuery("film", filter || undefined);
});
const retriever = new SelfQueryRetriever({
  vectorStore,
  queryConstructor,
  structuredQueryTranslator: new SealdexTranslator(),
  searchParams: { k: 10, filter: { tenant: "ann" } },
});

for (const question of ["films since 2000", "all films"]) {
  const found = await retriever.invoke(question);
  console.log(
    `${question}:`,
    found
      .map(({ metadata }) => metadata.title)
      .sort()
      .join(", "),
  );
}
await vectorStore.close();
