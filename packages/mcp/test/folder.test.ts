/** A folder that is kept in step with the index. */

import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hostilePdf, pdfOf } from "./pdf.js";
import { call, connectStdio, documentsOf, inStep, until, Workspace } from "./start-server.js";

let workspace: Workspace;
let client: Client | undefined;
beforeEach(() => {
  workspace = new Workspace();
});
afterEach(async () => {
  await client?.close();
  workspace.remove();
});

async function start(...more: readonly string[]): Promise<Client> {
  await client?.close();
  client = await connectStdio(workspace.args("--folder", workspace.notes, "--source", "own", ...more));
  return client;
}

async function texts(from: Client, query: string): Promise<string> {
  return (await call(from, "search", { query, limit: 20 })).text;
}

test("Markdown, text, HTML and PDF are read, with the headings above each passage", async () => {
  workspace.write(
    "guide.md",
    `# Guide\n\n## Rivers\n\n${"Trout live in rivers. ".repeat(60)}\n\nPike too.\n`,
  );
  workspace.write("plain.TXT", "Lighthouses are on rocks.");
  workspace.write(
    "page.html",
    "<title>t</title><style>p{}</style><script>alert('x')</script><h2>Harbors</h2><p>Ships &amp; cranes</p>",
  );
  workspace.write("paper.pdf", pdfOf(["Glaciers move slowly", "Icebergs float"]));
  workspace.write("scan.pdf", pdfOf([""]));
  workspace.write("picture.png", "not read");
  const running = await start();
  await until(running, inStep(5));
  expect(await texts(running, "pike")).toContain('"under":"Guide > Rivers"');
  expect(await texts(running, "lighthouses")).toContain("own/plain.TXT");
  const page = await texts(running, "harbors ships cranes");
  expect(page).toContain("## Harbors\n\nShips & cranes");
  expect(page).not.toMatch(/alert|p\{\}/);
  expect(await texts(running, "icebergs")).toContain("Icebergs float");
  expect((await call(running, "read", { document: "own/scan.pdf" })).isError).toBe(false);
});

test("changed, moved and deleted files are followed while the server runs, and when it starts", async () => {
  workspace.write("a.md", "Apples are red.");
  workspace.write("b.md", "Bananas are yellow.");
  workspace.write("deep/er/c.md", "Cherries are dark.");
  let running = await start();
  await until(running, inStep(3));
  const change = async (isReached: () => Promise<boolean>) =>
    expect.poll(isReached, { timeout: 400_000, interval: 100 }).toBe(true);

  workspace.write("a.md", "Apricots are orange.");
  await change(async () => !(await texts(running, "apples red")).includes("Apples"));
  expect(await texts(running, "apricots")).toContain("Apricots are orange.");
  renameSync(join(workspace.notes, "b.md"), join(workspace.notes, "moved.md"));
  await change(async () => String(await documentsOf(running)) === "own/a.md,own/deep/er/c.md,own/moved.md");
  renameSync(join(workspace.notes, "deep"), join(workspace.notes, "other"));
  await change(async () => String(await documentsOf(running)) === "own/a.md,own/moved.md,own/other/er/c.md");
  rmSync(join(workspace.notes, "moved.md"));
  workspace.write("new/d.md", "Dates are sweet.");
  await change(async () => String(await documentsOf(running)) === "own/a.md,own/new/d.md,own/other/er/c.md");
  workspace.write(".gitignore", "other/\n");
  await change(async () => String(await documentsOf(running)) === "own/a.md,own/new/d.md");

  await client?.close();
  client = undefined;
  workspace.write("a.md", "Almonds are brown.");
  rmSync(join(workspace.notes, "new"), { recursive: true });
  workspace.write("e.md", "Elderberries are black.");
  running = await start();
  await until(running, inStep(2));
  expect(await documentsOf(running)).toEqual(["own/a.md", "own/e.md"]);
  expect(await texts(running, "almonds")).toContain("Almonds");
});

test("a shorter version leaves no passage of the longer one", async () => {
  workspace.write("a.md", "Long sentences about owls. ".repeat(500));
  const running = await start();
  const { passages } = await until(running, inStep(1));
  expect(passages).toBeGreaterThan(10);
  workspace.write("a.md", "Short.");
  await until(running, (status) => status.passages === 1);
  expect(await texts(running, "owls")).not.toContain("owls.");
});

test(".gitignore is honored in each folder; hidden files and node_modules are left out", async () => {
  workspace.write(".gitignore", "drafts/\n*.txt\n!keep.txt\n/top.md\n");
  workspace.write("sub/.gitignore", "local.md\n!again.txt\n");
  for (const path of [
    "a.md",
    "b.txt",
    "keep.txt",
    "top.md",
    "drafts/c.md",
    "sub/top.md",
    "sub/local.md",
    "sub/again.txt",
    "sub/drafts/d.md",
    ".obsidian/e.md",
    "node_modules/f.md",
    ".env.md",
  ])
    workspace.write(path, `Text of ${path}`);
  const running = await start();
  await until(running, inStep(4));
  expect(await documentsOf(running)).toEqual([
    "own/a.md",
    "own/keep.txt",
    "own/sub/again.txt",
    "own/sub/top.md",
  ]);
  workspace.write("drafts/new.md", "A draft");
  workspace.write("z.md", "No draft");
  await until(running, inStep(5));
  expect(await documentsOf(running)).not.toContain("own/drafts/new.md");
});

test("symbolic links are never followed, neither to files, nor to folders, nor in the place of a folder", async () => {
  mkdirSync(join(workspace.root, "secret"));
  workspace.write("../secret/passwords.md", "The password is swordfish.");
  workspace.write("a.md", "Nothing secret.");
  workspace.write("swap/b.md", "Nothing secret either.");
  symlinkSync(join(workspace.root, "secret", "passwords.md"), join(workspace.notes, "file.md"));
  symlinkSync(join(workspace.root, "secret"), join(workspace.notes, "folder"));
  symlinkSync(join(workspace.root, "secret", "passwords.md"), join(workspace.notes, ".gitignore"));
  const running = await start();
  await until(running, inStep(2));
  renameSync(join(workspace.notes, "swap"), join(workspace.root, "swapped"));
  symlinkSync(join(workspace.root, "secret"), join(workspace.notes, "swap"));
  await until(running, inStep(1));
  symlinkSync(join(workspace.root, "secret", "passwords.md"), join(workspace.notes, "later.md"));
  workspace.write("c.md", "Nothing secret again.");
  await until(running, inStep(2));
  expect(await documentsOf(running)).toEqual(["own/a.md", "own/c.md"]);
  expect(await texts(running, "password swordfish")).not.toContain("swordfish");
});

test("a file that cannot be read is named in the status, and the others are stored", async () => {
  workspace.write("broken.pdf", "%PDF-1.4 this is no document");
  workspace.write("large.md", new Uint8Array(20 * 1024 * 1024 + 1));
  workspace.write("a.md", "Fine.");
  const { folder } = await until(await start(), inStep(1));
  expect(folder?.skipped).toBe(2);
  expect(folder?.skippedFiles.join()).toMatch(/broken\.pdf: .+large\.md: larger than 20 MiB/);
});

test("tools answer while a hostile PDF is read, and the status names it", async () => {
  workspace.write("a.md", "Fine.");
  workspace.write("hostile.pdf", hostilePdf());
  const running = await start();
  await until(running, ({ folder }) => folder?.state === "reading, 1 files so far");
  expect((await call(running, "remember", { text: "Noted meanwhile." })).isError).toBe(false);
  const { folder } = await until(running, inStep(2));
  expect(folder?.skippedFiles.join()).toMatch(/^hostile\.pdf: reading it takes (more than|longer than) .+/);
});

test("a server ends while a hostile PDF is read, and keeps the document that was there before", async () => {
  workspace.write("a.pdf", pdfOf(["Glaciers move slowly"]));
  await until(await start(), inStep(1));
  await client?.close();
  workspace.write("a.pdf", hostilePdf());
  const running = await start();
  await until(running, ({ folder }) => folder?.state.startsWith("reading") === true);
  await running.close();
  rmSync(join(workspace.notes, "a.pdf"));
  client = await connectStdio(workspace.args());
  expect(await documentsOf(client)).toEqual(["own/a.pdf"]);
});

test("files that only have another time are not stored again", async () => {
  workspace.write("a.md", "Fine.");
  await until(await start(), inStep(1));
  utimesSync(join(workspace.notes, "a.md"), 1, 1);
  const running = await start();
  await until(running, inStep(1));
  expect(await documentsOf(running)).toEqual(["own/a.md"]);
});

test("an empty folder, as one that is not mounted, removes nothing", async () => {
  workspace.write("a.md", "Fine.");
  workspace.write("b.md", "Fine too.");
  await until(await start(), inStep(2));
  await client?.close();
  client = undefined;
  rmSync(workspace.notes, { recursive: true });
  mkdirSync(workspace.notes);
  const status = await until(await start(), ({ folder }) => folder?.state === "failed");
  expect(status.documents).toBe(2);
});

test("files that are no documents cause no comparison of the whole folder", async () => {
  workspace.write(".gitignore", "ignored/\n");
  workspace.write("a.md", "Fine.");
  workspace.write("ignored/b.md", "Not read.");
  const running = await start();
  const { folder } = await until(running, inStep(1));
  workspace.write("program.js", "1");
  workspace.write("ignored/deep/c.md", "Not read.");
  workspace.write("temporary", "1");
  rmSync(join(workspace.notes, "temporary"));
  workspace.write("d.md", "Read.");
  const after = await until(running, inStep(2));
  expect(after.folder?.comparedAt).toBe(folder?.comparedAt);
});
