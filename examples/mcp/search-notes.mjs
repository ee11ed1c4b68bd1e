// An MCP client that searches a folder of notes and remembers something.
//
//   npm install sealdex-mcp @modelcontextprotocol/sdk
//   node search-notes.mjs
//
// Runs offline. The index and its key are in .sealdex/ of the working directory.

import { mkdir, writeFile } from "node:fs/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

await mkdir("notes/garden", { recursive: true });
await mkdir(".sealdex", { recursive: true });
await writeFile("notes/keys.md", "# Keys\n\nThe encryption keys are rotated each January.\n");
await writeFile("notes/garden/roses.md", "# Roses\n\nCut them back before the first frost.\n");

const client = new Client({ name: "example", version: "1.0.0" });
const args = ["--folder", "notes", "--key-file", ".sealdex/notes.key", "--location", ".sealdex/index"];
await client.connect(new StdioClientTransport({ command: "npx", args: ["sealdex-mcp", ...args] }));

async function call(name, input = {}) {
  const { content } = await client.callTool({ name, arguments: input });
  return content[0].text;
}

// The server reads the folder in the background.
while (!(await call("status")).includes('"in step"'))
  await new Promise((resolve) => setTimeout(resolve, 200));

console.log(await call("search", { query: "When do we change our keys?", limit: 1 }));

const remembered = await call("remember", { text: "Ann prefers trains to planes." });
console.log(remembered);
console.log(await call("search", { query: "How does Ann like to travel?", limit: 1 }));
console.log(await call("forget", { document: remembered.split(" ").at(-1) }));

await client.close();
