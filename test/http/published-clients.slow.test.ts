/**
 * Published clients, unchanged, against the service as its users run it. `npm run test:long -- clients` writes the table of docs/clients.md
 * from what they did. Needs a build, and `node scripts/install-python.mjs`.
 */

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateKey } from "../../src/core.js";
import { startProcess, type ServiceProcess } from "./service-process.js";

interface Outcome {
  readonly check: string;
  readonly error?: string;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
const versions = new URL("../clients/versions.json", import.meta.url);
const pythonVersions = JSON.parse(readFileSync(versions, "utf8")) as readonly string[];

/** Failures of the client itself, by version and check. */
const known: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "PyPI 0.12.0": {
    "upsert dictionaries with vectors, contents and metadata": "it refuses texts as contents itself",
    "query texts by an embedding model": "it refuses texts as contents itself",
  },
  "PyPI 0.16.0": {
    "upsert_binary with metadata and contents": "its `upsert_binary` refuses texts as contents itself",
  },
};

const clients: readonly { readonly name: string; readonly command: readonly string[] }[] = [
  { name: "npm 0.14.0", command: [process.execPath, "test/clients/npm-checks.mjs"] },
  ...pythonVersions.map((version) => ({
    name: `PyPI ${version}`,
    command: [`.python/${version}/bin/python`, "test/clients/python/checks.py", version],
  })),
];

const rows: string[] = [];
let service: ServiceProcess;
const apiKey = generateKey();
beforeAll(async () => {
  service = await startProcess({ SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_ROOT_KEY: apiKey });
});
afterAll(async () => {
  await service.kill();
  const page = `${root}docs/clients.md`;
  if (rows.length < clients.length) return;
  const text = await readFile(page, "utf8");
  const table = ["| Client | Checks | Passed | Not passed |", "|---|---|---|---|", ...rows].join("\n");
  const updated = text.replace(/^\| Client \|.*?(?=\n\n)/ms, table);
  if (process.env.SEALDEX_WRITE_CLIENTS !== undefined) {
    process.stdout.write(`${table}\n`);
    await writeFile(page, updated);
  } else expect(updated, "docs/clients.md: `npm run test:long -- clients` writes its table").toBe(text);
});

test("every version has its environment", () => {
  expect(pythonVersions.length).toBeGreaterThan(3);
  for (const version of pythonVersions) {
    const message = `.python/${version}: node scripts/install-python.mjs makes it`;
    expect(existsSync(`${root}.python/${version}/bin/python`), message).toBe(true);
  }
});

describe.each(clients)("$name", ({ name, command }) => {
  test("does all that it can do", async () => {
    const [program, ...args] = command;
    const { stdout } = await run(program, args, {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        PYTHONPATH: "test/clients/python",
        PYTHONDONTWRITEBYTECODE: "1",
        SEALDEX_TEST_URL: service.baseUrl,
        SEALDEX_TEST_KEY: apiKey,
      },
    });
    const outcomes = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Outcome);
    expect(outcomes.length).toBeGreaterThan(10);
    const reasons = known[name] ?? {};
    const failed = outcomes.filter(({ error }) => error !== undefined);
    expect(failed.filter(({ check }) => !Object.hasOwn(reasons, check))).toEqual([]);
    const notPassed = failed.map(({ check }) => `${check}: ${reasons[check]}`).join("; ");
    rows.push(
      `| ${name} | ${outcomes.length} | ${outcomes.length - failed.length} | ${notPassed || "none"} |`,
    );
  });
});
