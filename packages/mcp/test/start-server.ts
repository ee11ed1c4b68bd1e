/** Servers in processes of their own, and real clients of them. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";

export const program = fileURLToPath(new URL("../dist/main.js", import.meta.url));
export const token = "a token for these tests";

/** A folder of notes, and a place for an index and its key. */
export class Workspace {
  readonly root = mkdtempSync(join(tmpdir(), "sealdex-mcp-"));
  readonly notes = join(this.root, "notes");
  readonly keyFile = join(this.root, "notes.key");
  readonly location = join(this.root, "index");

  constructor() {
    mkdirSync(this.notes);
  }

  write(path: string, text: string | Uint8Array): void {
    mkdirSync(dirname(join(this.notes, path)), { recursive: true });
    writeFileSync(join(this.notes, path), text);
  }

  args(...more: readonly string[]): string[] {
    return ["--key-file", this.keyFile, "--location", this.location, ...more];
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

export async function connectStdio(args: readonly string[]): Promise<Client> {
  const client = new Client({ name: "test", version: "0" });
  const command = { command: process.execPath, args: [program, ...args], stderr: "pipe" as const };
  await client.connect(new StdioClientTransport(command));
  return client;
}

export interface HttpServer {
  readonly url: string;
  readonly process: ChildProcess;
}

export async function startHttp(args: readonly string[]): Promise<HttpServer> {
  const child = spawn(process.execPath, [program, ...args, "--http", "0"], {
    env: { ...process.env, SEALDEX_MCP_TOKEN: token },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let printed = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      printed += chunk;
      const [, found] = /listening on (\S+)/.exec(printed) ?? [];
      if (found) resolve(found);
    });
    child.on("exit", () => reject(new Error(`the server ended: ${printed}`)));
  });
  return { url, process: child };
}

export async function connectHttp(url: string): Promise<Client> {
  const client = new Client({ name: "test", version: "0" });
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

export async function kill({ process: child }: HttpServer, signal: NodeJS.Signals): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await ended;
}

export interface Answer {
  readonly text: string;
  readonly isError: boolean;
}

export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Answer> {
  const { content, isError = false } = (await client.callTool({ name, arguments: args })) as CallToolResult;
  return { text: content.map((part) => (part.type === "text" ? part.text : "")).join(""), isError };
}

export interface Status {
  readonly documents: number;
  readonly passages: number;
  readonly readOnly: boolean;
  readonly folder?: {
    readonly source: string;
    readonly state: string;
    readonly comparedAt?: string;
    readonly failure?: string;
    readonly skipped: number;
    readonly skippedFiles: readonly string[];
  };
}

export async function statusOf(client: Client): Promise<Status> {
  return JSON.parse((await call(client, "status")).text) as Status;
}

/** Waits for a state of the index. The limit is for a state that is never reached: it is above any that the server has. */
export async function until(client: Client, isReached: (status: Status) => boolean): Promise<Status> {
  for (let i = 0; ; i++) {
    const status = await statusOf(client);
    if (isReached(status)) return status;
    if (i === 4000) throw new Error(`not reached: ${JSON.stringify(status)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export const inStep = (documents: number) => (status: Status) =>
  status.folder?.state === "in step" && status.documents === documents;

/** The names of all documents. */
export async function documentsOf(client: Client): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listResources({ ...(cursor && { cursor }) });
    names.push(...page.resources.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor);
  return names.sort();
}
