/** The code of the README and of docs/items.md does what they say. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { newFolder } from "./folder.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const readme = readFileSync(join(root, "README.md"), "utf8");
const blocks = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code);

/** Runs a program that imports `sealdex`, one or several times, in a folder of its own; what it prints. */
async function run(program: string, times = 1): Promise<string> {
  const folder = await newFolder();
  // Run from the project, where its own name resolves, with its files elsewhere.
  const moved = program.replaceAll(/"(?:\.\/)?(data|notes\.key|pages\.jsonl)"/g, (_, name: string) =>
    JSON.stringify(join(folder, name)),
  );
  let printed = "";
  for (let i = 0; i < times; i++) {
    const args = ["--input-type=module", "-e", moved];
    printed += (await promisify(execFile)(process.execPath, args, { cwd: root })).stdout;
  }
  return printed;
}

test("every error code is listed", () => {
  const codes = [...readFileSync(join(root, "src/errors.ts"), "utf8").matchAll(/^ {2}"(\w+)",$/gm)];
  const table = readme.slice(readme.indexOf("| code | meaning |"));
  expect(codes.length).toBeGreaterThan(15);
  for (const [, code] of codes) expect(table, code).toContain(`\`${code}\``);
});

test("the first lines store two texts and find the right one, also when they run again", async () => {
  const printed = await run(blocks[0], 2);
  expect(printed.match(/Keys are rotated every year\./g)).toHaveLength(2);
  expect(printed).not.toContain("Salmon");
});

test("docs/items.md runs from its first line to its last", async () => {
  const text = readFileSync(join(root, "docs", "items.md"), "utf8");
  const program = [...text.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code).join("\n");
  const printed = (await run(program)).trim().split("\n");
  // Two batches of an ingest and the lines of an import.
  expect([printed.slice(0, 3), printed.at(-1)]).toEqual([
    ["guide#1 guide.md", "guide#2 guide.md", "news#1 news.md"],
    "2500",
  ]);
});

test("the vector store's calls work as shown", async () => {
  const documents = `[{ pageContent: "a", metadata: { year: 2021 } }, { pageContent: "b", metadata: { year: 1990 } }]`;
  const prelude = `
    import { EncryptedVectorStore, generateKey, LexicalEmbeddings } from "sealdex";
    const embeddings = new LexicalEmbeddings();
    const [indexName, indexKey, indexLocation] = ["n", generateKey(), { location: "local", path: "./data" }];
    const store = new EncryptedVectorStore(embeddings, { indexName, indexKey, indexLocation });
    const documents = ${documents};
    const ids = ["a", "b"];
    await store.addTexts(["c"]);`;
  const printed = await run(
    `${prelude}\n${blocks[1]}
    const left = (await again.similaritySearch("b", 9)).map(({ pageContent }) => pageContent).sort();
    console.log(JSON.stringify([found.map(([{ id }]) => id), varied.length, known.map(({ id }) => id), left]));
    if ((await retriever.invoke("b")).length > 0) throw new Error("expected the retriever's filter to hold");`,
  );
  expect(JSON.parse(printed)).toEqual([["a"], 3, ["a"], ["b", "c"]]);
});

test("the library's calls work as shown", async () => {
  const printed = await run(`${blocks[2]}\nconsole.log(JSON.stringify([matches, lists]));`);
  const [matches, lists] = JSON.parse(printed) as [{ id: string; metadata: object }[], unknown[][]];
  expect(matches).toEqual([{ id: "1", distance: expect.any(Number), metadata: { year: 1999 } }]);
  expect(lists.map((list) => list.length)).toEqual([1, 1]);
});

test("a question with a number finds the item that has it, and says where", async () => {
  const printed = await run(`${blocks[2]}\n${blocks[3]}\nconsole.log(JSON.stringify(answers));`);
  const [{ contents, highlights }] = JSON.parse(printed) as {
    contents: string;
    highlights: { start: number; end: number }[];
  }[];
  expect(highlights.map(({ start, end }) => contents.slice(start, end))).toContain("E1047");
});
