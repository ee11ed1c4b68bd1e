/** Values, errors and the library itself in another realm, as in the tests of Jest and in notebooks, and two builds of it in one process. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { createContext, compileFunction, runInContext, runInNewContext } from "node:vm";
import { beforeEach, expect, test } from "vitest";
import type * as core from "../../src/core.js";
import { copyIndex, createClient, generateKey, SealdexError } from "../../src/core.js";
import { isAbortSignal, isError, isMapOrSet } from "../../src/checks/value-kinds.js";
import { newFolder } from "../folder.js";

type Library = typeof core;

const require = createRequire(import.meta.url);
const built = join(import.meta.dirname, "../../dist/cjs/core.js");
const options = { indexName: "a", indexKey: generateKey() };
const other = (code: string): never => runInNewContext(code) as never;

let path: string;
beforeEach(async () => {
  path = await newFolder();
});

const inMemory = (indexKey = options.indexKey) =>
  createClient({ indexLocation: { location: "memory" } }).createIndex({ ...options, indexKey });

test("values of another realm are accepted", async () => {
  const index = await inMemory(other("new Uint8Array(32).fill(7)"));
  await index.upsert([
    { id: "a", vector: other("new Float32Array([1, 2])"), metadata: other("({ a: [1, { b: null }] })") },
    { id: "b", vector: other("[2, 1]"), expiresAt: other("new Date(Date.now() + 1e6)") },
  ]);
  const queryVector = other("new Float32Array([1, 2])");
  expect(await index.query({ queryVector, topK: 1, include: [] })).toEqual([{ id: "a" }]);
  expect(await index.count({ filter: other("({ a: { $in: [1] } })") })).toBe(1);
  const dated = index.upsert([{ id: "c", vector: [1, 2], metadata: other("({ at: new Date() })") }]);
  await expect(dated).rejects.toThrow("got a Date (give its toISOString(), or a number)");
});

test("objects that only resemble such a value are refused", async () => {
  const index = await inMemory();
  const tag = { [Symbol.toStringTag]: "Float32Array", length: 2, 0: 1, 1: 2 };
  await expect(index.upsert([{ id: "a", vector: tag as never }])).rejects.toThrow(
    "expected an array of numbers",
  );
  const date = { [Symbol.toStringTag]: "Date" } as never;
  await expect(index.upsert([{ id: "a", vector: [1], expiresAt: date }])).rejects.toMatchObject({
    code: "invalid_request",
  });
  for (const value of [null, 1, {}, { aborted: true }]) {
    expect([isError(value), isAbortSignal(value), isMapOrSet(value)]).toEqual([false, false, false]);
  }
  expect(isMapOrSet(other("new Set()"))).toBe(true);
  expect(isError(other("new TypeError('x')"))).toBe(true);
});

/** The built library, with all of its modules, in a context of its own, as Jest loads it: modules of Node.js are those of the process. */
function inContext(globals: Record<string, unknown> = {}): Library {
  const names = Object.getOwnPropertyNames(globalThis).filter(
    (name) => runInNewContext(`typeof ${/^\w+$/.test(name) ? name : "undefined"}`) === "undefined",
  );
  const given = Object.fromEntries(names.map((name) => [name, Reflect.get(globalThis, name)]));
  const context = createContext({ ...given, ...globals });
  runInContext("globalThis.global = globalThis", context);
  const loaded = new Map<string, { exports: unknown }>();
  const load = (file: string): unknown => {
    const known = loaded.get(file);
    if (known !== undefined) return known.exports;
    const module = { exports: {} as unknown };
    loaded.set(file, module);
    const run = compileFunction(
      readFileSync(file, "utf8"),
      ["exports", "require", "module", "__filename", "__dirname"],
      {
        parsingContext: context,
        filename: file,
      },
    ) as (...given: unknown[]) => void;
    const find = createRequire(file);
    const requireHere = (name: string) => {
      const target = find.resolve(name);
      return target.startsWith(dirname(built)) ? load(target) : (find(name) as unknown);
    };
    run(module.exports, Object.assign(requireHere, find), module, file, dirname(file));
    return module.exports;
  };
  return load(built) as Library;
}

test("a local store works where errors of Node.js are no instances of Error", async () => {
  const library = inContext();
  const client = library.createClient({ indexLocation: { location: "local", path } });
  const index = await client.createIndex(options);
  await index.upsert([{ id: "a", vector: new Float32Array([1, 2]) }]);
  expect(await index.listIds()).toEqual(["a"]);
  const missing = await client.loadIndex({ ...options, indexName: "b" }).catch((error: unknown) => error);
  expect(missing).not.toBeInstanceOf(Error);
  expect(missing).toBeInstanceOf(SealdexError);
  expect(missing).toBeInstanceOf(library.SealdexError);
  await client.close();
});

test(
  "a local store works in a test of Vitest that has a realm of its own",
  { timeout: 600_000 },
  async () => {
    const vitest = join(dirname(require.resolve("vitest/package.json")), "vitest.mjs");
    const root = join(import.meta.dirname, "../runtimes/vm-pool");
    const run = [vitest, "run", "--root", root, "--config", join(root, "vitest.config.mjs")];
    for (const pool of ["vmThreads", "vmForks"]) {
      const { stdout } = await promisify(execFile)(process.execPath, [...run, `--pool=${pool}`], {
        env: { ...process.env, VITEST: undefined, NO_COLOR: "1" },
      });
      expect(stdout).toMatch(/Tests +1 passed/);
    }
  },
);

test("a client of the build for require is one for the build for import", async () => {
  const library = require(built) as Library;
  const there = library.createClient({ indexLocation: { location: "local", path } });
  const here = createClient({ indexLocation: { location: "memory" } });
  await (await there.createIndex(options)).upsert([{ id: "a", vector: [1, 2] }]);
  await copyIndex({ from: there, to: here, ...options });
  await library.copyIndex({ from: here, to: there, ...options, newName: "b" });
  expect(await there.listIndexes()).toEqual(["a", "b"]);
  const wrongKey = there.loadIndex({ ...options, indexKey: generateKey() });
  await expect(wrongKey).rejects.toBeInstanceOf(SealdexError);
  class Own extends SealdexError {}
  expect(new Own("internal", "")).toBeInstanceOf(SealdexError);
  expect(new Error("")).not.toBeInstanceOf(SealdexError);
  await Promise.all([there.close(), here.close()]);
});
