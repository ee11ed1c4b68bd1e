#!/usr/bin/env node
/** The command line of `sealdex-mcp`. */

import { Console } from "node:console";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename } from "node:path";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { Command, InvalidArgumentError, Option } from "commander";
import { DocumentIndex } from "./documents/document-index.js";
import { digestOf, memory } from "./documents/document.js";
import { checkReference, openKeySource } from "./key-source.js";
import { defaultLocation, expandHome, parseLocation } from "./location.js";
import { createServer, type Served } from "./server/create-server.js";

// Only messages of the protocol may be on the standard output, also if a dependency prints a warning.
globalThis.console = new Console(process.stderr);
const log = (text: string) => process.stderr.write(`sealdex-mcp: ${text}\n`);

const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
const { version } = JSON.parse(manifest) as { version: string };

interface Options {
  readonly folder?: string;
  readonly source?: string;
  readonly keyFile?: string;
  readonly key?: string;
  readonly location: string;
  readonly index: string;
  readonly readOnly: boolean;
  readonly http?: number;
  readonly host: string;
  readonly tokenFile?: string;
  readonly allowHost: readonly string[];
}

const program = new Command("sealdex-mcp")
  .description("An MCP server that searches a folder of notes, and remembers, in an encrypted index.")
  .version(version)
  .option("--folder <path>", "keep the documents of this folder in the index")
  .option(
    "--source <name>",
    "name of the folder in the index (default: its own, and a digest of machine and path)",
  )
  .addOption(new Option("--key-file <path>", "key of the index; made for a new index").conflicts("key"))
  .addOption(
    new Option("--key <reference>", "or file:…, passphrase-file:…, keyring:…, aws-kms:…, vault:…").env(
      "SEALDEX_MCP_KEY",
    ),
  )
  .addOption(
    new Option("--location <place>", "storage: a folder, s3://…, gs://…, redis://…, postgres://…")
      .default(defaultLocation)
      .env("SEALDEX_MCP_LOCATION"),
  )
  .option("--index <name>", "name of the index", "notes")
  .option("--read-only", "offer no tools that change anything; without --folder, create no index", false)
  .option("--http <port>", "serve Streamable HTTP instead of stdio", parsePort)
  .option("--host <address>", "address of the HTTP server", "127.0.0.1")
  .option("--token-file <path>", "token that HTTP clients send (or SEALDEX_MCP_TOKEN)")
  .option("--allow-host <name...>", "host names by which HTTP clients may call the server", [])
  .action((options: Options) => run(options));

try {
  await program.parseAsync();
} catch (error) {
  program.error(`error: ${error instanceof Error ? error.message : "unknown"}`);
}

async function run(options: Options): Promise<void> {
  const reference = options.key ?? (options.keyFile && `file:${options.keyFile}`);
  if (!reference) throw new Error("expected --key-file or --key");
  checkReference(reference);
  const token = options.http === undefined ? "" : readToken(options);
  const { folder: folderPath, readOnly } = options;
  const index = new DocumentIndex({
    location: parseLocation(options.location, process.env),
    indexName: options.index,
    key: (create) => openKeySource({ reference, create, environment: process.env }),
    create: !readOnly || folderPath !== undefined,
  });
  const { sync, start, stop } = await prepareSync(options, index);
  const served: Served = { index, sync, readOnly, version, log };

  let stopping = false;
  const shutDown = async (close: () => Promise<void>) => {
    if (stopping) return;
    stopping = true;
    await close();
    await stop();
    await index.close();
  };
  if (options.http !== undefined) {
    const { serveHttp } = await import("./server/serve-http.js");
    const { http: port, host, allowHost: allowedHosts } = options;
    const settings = { host, port, token, allowedHosts, log, createServer: () => createServer(served) };
    const endpoint = await serveHttp(settings);
    log(`listening on ${endpoint.url}`);
    endOn(["SIGINT", "SIGTERM"], () => shutDown(() => endpoint.close()));
    start();
  } else {
    const server = createServer(served);
    // Only then: nothing shall delay the answer to the first request.
    server.server.oninitialized = start;
    await server.connect(new StdioServerTransport());
    const end = () => shutDown(() => server.close());
    endOn(["SIGINT", "SIGTERM"], end);
    process.stdin.once("end", () => void end());
  }
}

async function prepareSync({ folder: path, source }: Options, index: DocumentIndex) {
  if (path === undefined) return { sync: undefined, start: () => undefined, stop: async () => undefined };
  const { Folder } = await import("./files/folder.js");
  const { FolderSync } = await import("./files/folder-sync.js");
  const folder = await Folder.open(expandHome(path));
  const ownName = `${basename(folder.root)}-${digestOf(`${hostname()}\0${folder.root}`).slice(0, 8)}`;
  const name = source ?? ownName;
  if (name === memory || name.includes("/"))
    throw new Error(`--source: expected another name than ${memory}, without a slash`);
  const sync = new FolderSync(folder, name, index, log);
  let unwatch: Promise<() => Promise<void>> | undefined;
  const start = () => {
    if (unwatch) return;
    // First, so that no change is missed between the comparison and the watcher.
    unwatch = import("./files/watch-folder.js")
      .then(({ watchFolder }) => watchFolder(folder, sync, log))
      .catch((error: Error) => {
        log(`The folder cannot be watched: ${error.message}`);
        return async () => undefined;
      });
    void unwatch.then(() => sync.update());
  };
  const stop = async () => {
    await (
      await unwatch
    )?.();
    await sync.stop();
  };
  return { sync, start, stop };
}

function readToken({ tokenFile }: Options): string {
  const { SEALDEX_MCP_TOKEN } = process.env;
  const token = tokenFile ? readFileSync(expandHome(tokenFile), "utf8").trim() : SEALDEX_MCP_TOKEN;
  if (!token || token.length < 16)
    throw new Error("--http: expected a token of 16 characters or more in --token-file or SEALDEX_MCP_TOKEN");
  return token;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65535) throw new InvalidArgumentError("expected a port, or 0 for any");
  return port;
}

function endOn(signals: readonly NodeJS.Signals[], end: () => Promise<void>): void {
  for (const signal of signals) process.once(signal, () => void end());
}
