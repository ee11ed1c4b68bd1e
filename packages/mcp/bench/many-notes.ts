/** Figures of docs/mcp.md: `node packages/mcp/bench/many-notes.ts [notes]`, after a build. */

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";

interface Status {
  readonly documents: number;
  readonly folder: { readonly state: string };
}

const count = Number(process.argv[2] ?? 100_000);
const root = mkdtempSync(join(tmpdir(), "sealdex-many-"));
const program = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const vocabulary = words().slice(0, 8000);

let state = 1;
function random(limit: number) {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
}

/** Words of the documents of this repository. */
function words() {
  const text = readFileSync(new URL("../../../docs/operations.md", import.meta.url), "utf8");
  const found = new Set(text.toLowerCase().match(/[a-z]{3,12}/g));
  const all = [...found];
  return all.flatMap((word) => [word, ...all.slice(0, 12).map((other) => word + other)]);
}

function sentence() {
  return `${Array.from({ length: 12 }, () => vocabulary[random(vocabulary.length)]).join(" ")}.`;
}

for (let i = 0; i < count; i++) {
  const folder = join(root, "notes", String(i % 200));
  if (i < 200) mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, `${i}.md`),
    `# ${sentence()}\n\n${Array.from({ length: 4 }, sentence).join(" ")}\n`,
  );
}

const args = [
  program,
  "--folder",
  join(root, "notes"),
  "--key-file",
  join(root, "key"),
  "--location",
  join(root, "index"),
];
const print = (...parts: readonly unknown[]) => process.stdout.write(`${parts.join(" ")}\n`);
const ms = (started: number) => `${Math.round(performance.now() - started)} ms`;

async function start() {
  const client = new Client({ name: "bench", version: "0" });
  const transport = new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" });
  const started = performance.now();
  await client.connect(transport);
  print("initialize:", ms(started));
  return { client, pid: transport.pid };
}

async function call(client: Client, name: string, input: Record<string, unknown> = {}): Promise<string> {
  const { content } = (await client.callTool({ name, arguments: input })) as CallToolResult;
  return content[0].type === "text" ? content[0].text : "";
}

async function search(client: Client, name: string): Promise<void> {
  const started = performance.now();
  const text = await call(client, "search", { query: sentence() });
  print(`${name}:`, ms(started), text.length, "characters");
}

/** Also the longest that a call of a tool waited in the meantime. */
async function waitUntilInStep(client: Client): Promise<void> {
  const started = performance.now();
  let longest = 0;
  for (;;) {
    const asked = performance.now();
    const status = JSON.parse(await call(client, "status")) as Status;
    longest = Math.max(longest, performance.now() - asked);
    if (status.folder.state === "in step") {
      print(`in step: ${status.documents} documents after`, ms(started));
      print(`longest answer meanwhile: ${Math.round(longest)} ms`);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function memory(pid: number | null) {
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return `${Math.round(Number(kilobytes) / 1024)} MB at most`;
}

for (const run of ["first start", "later start"]) {
  print(`\n${run}`);
  const { client, pid } = await start();
  await search(client, "first search");
  await waitUntilInStep(client);
  for (let i = 0; i < 3; i++) await search(client, "search");
  writeFileSync(join(root, "notes", "0", "0.md"), `# Changed\n\nThe wombat sleeps. ${run}\n`);
  const changed = performance.now();
  while (!(await call(client, "search", { query: `wombat ${run}`, limit: 1 })).includes(run))
    await new Promise((resolve) => setTimeout(resolve, 50));
  print("a changed file is found after", ms(changed));
  print("memory:", memory(pid));
  await client.close();
}
print("index:", execFileSync("du", ["-sh", join(root, "index")], { encoding: "utf8" }).split("\t")[0]);
rmSync(root, { recursive: true });
