/** The code of docs/langchain.md runs, in the order of the page, as one program. */

import { execFile } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { newFolder } from "../folder.js";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

test("the page's code runs from top to bottom and finds the documented results", async () => {
  const page = readFileSync(join(root, "docs", "langchain.md"), "utf8");
  const code = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map(([, block]) => block).join("\n");
  const folder = await newFolder();
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  const program = `${code}
    console.log(JSON.stringify([keys.id, found[0].id, varied.length, documentsFound.length, (await mmr.invoke("keys")).length]));
    console.log(JSON.stringify([byBoth[0].pageContent, byWords.length, (await hybrid.invoke("E1047"))[0].pageContent]));
    console.log(JSON.stringify([wholeParent.pageContent.length, wholeReport.pageContent]));
    await Promise.all([vectorStore.close(), manual.close()]);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    cwd: folder,
  });
  const lines = stdout.trim().split("\n");
  expect(JSON.parse(lines[lines.length - 3])).toEqual(["keys", "keys", 1, 1, 1]);
  const text = "Error E1047 means that the disk is full.";
  expect(JSON.parse(lines[lines.length - 2])).toEqual([text, 1, text]);
  expect(JSON.parse(lines[lines.length - 1])).toEqual([62, "The whole report of 2025."]);
  expect(lines[0]).toMatch(/^[01]\.\d{3} keys Keys are rotated every year\.$/);
});
