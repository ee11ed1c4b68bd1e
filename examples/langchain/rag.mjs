// Retrieval-augmented generation: a chain that answers from encrypted documents, whole, streamed and in batches.
//
// Run: node rag.mjs        Needs: npm install sealdex @langchain/core

import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { RunnablePassthrough, RunnableSequence } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { EncryptedVectorStore, generateKey, SealdexEmbeddings } from "sealdex";

// Runs without a network. For a real one: const model = new ChatOpenAI({ model: "gpt-5-mini" });
const model = new FakeListChatModel({ responses: ["Every year.", "In the kitchen.", "Upstream."] });

// In memory, the key may end with the process. For an index that lasts: fileKey("./notes.key", { create: true })
const indexKey = generateKey();
const store = await EncryptedVectorStore.fromTexts(
  [
    "The encryption keys are rotated every year, in March.",
    "The key of the office door hangs in the kitchen.",
    "Salmon swim upstream in autumn.",
  ],
  {},
  new SealdexEmbeddings(),
  { indexName: "handbook", indexKey, indexLocation: { location: "memory" } },
);

const prompt = ChatPromptTemplate.fromMessages([
  ["system", "Answer from this context only:\n{context}"],
  ["human", "{question}"],
]);
const join = (documents) => documents.map(({ pageContent }) => pageContent).join("\n");
const chain = RunnableSequence.from([
  { context: store.asRetriever(1).pipe(join), question: new RunnablePassthrough() },
  prompt,
  model,
  new StringOutputParser(),
]);

console.log(await chain.invoke("How often are encryption keys rotated?"));
for await (const piece of await chain.stream("Where is the key of the office?")) process.stdout.write(piece);
console.log();
console.log(await chain.batch(["Where do salmon swim?"]));
await store.close();
