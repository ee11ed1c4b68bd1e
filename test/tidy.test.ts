/** The rules of the code base that a machine can check. docs/internals/architecture.md explains them. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const src = join(root, "src");

interface Source {
  /** Relative to src/, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** Relative imports as paths like `path`, and packages as they are written. */
  readonly imports: readonly { readonly target: string; readonly typeOnly: boolean }[];
}

function sources(folder: string): Source[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter(
      (name) =>
        /(?<!\.d)\.tsx?$/.test(name) && !name.includes("assembly") && !name.endsWith("kernels.wasm.ts"),
    )
    .map((name) => {
      const file = join(folder, name);
      const text = readFileSync(file, "utf8");
      const pattern = /^(?:import|export)(\s+type)?\s[^;]*?from\s+"([^"]+)"|import\("([^"]+)"\)/gm;
      const imports = [...text.matchAll(pattern)].map(([, typeOnly, from, dynamic]) => {
        const target = from ?? dynamic;
        const resolved = target.startsWith(".")
          ? relative(folder, resolve(dirname(file), target))
              .replaceAll("\\", "/")
              .replace(/\.js$/, ".ts")
          : target;
        return { target: resolved, typeOnly: typeOnly !== undefined };
      });
      return { path: name.replaceAll("\\", "/"), text, imports };
    });
}

/** Folders of the server, from the lowest, and what they may import. */
const serverTable: Record<string, string> = {
  "processes/": "node:cluster node:events",
  "body/":
    "@streamparser/json ajv fastify node:buffer node:events node:http node:stream node:worker_threads node:zlib sealdex/core sealdex/wire",
  "http/":
    "body/ @fastify/static @fastify/swagger @fastify/swagger-ui @fastify/type-provider-typebox @fastify/under-pressure @opentelemetry/api fastify node:crypto node:fs node:http node:net node:stream node:tls node:url node:v8 sealdex/core sealdex/wire",
  "indexes/": "http/ fastify node:crypto node:diagnostics_channel sealdex/core sealdex/wire",
  "access/": "http/ indexes/ processes/ fastify node:crypto rate-limiter-flexible sealdex/core sealdex/wire",
  "audit/":
    "access/ http/ settings/ fastify node:crypto node:fs/promises node:path sealdex/core sealdex/wire",
  "settings/": "http/ node:crypto node:fs node:net node:url pino sealdex/core sealdex/wire yaml",
  "metrics/": "http/ indexes/ fastify prom-client sealdex/core",
  "schemas/": "access/ audit/ indexes/ metrics/ sealdex/core sealdex/wire typebox",
  "routes/":
    "access/ audit/ http/ indexes/ metrics/ processes/ schemas/ fastify node:crypto node:http sealdex/core sealdex/wire",
  "app.ts": "access/ audit/ http/ indexes/ metrics/ processes/ routes/ fastify sealdex/core",
  "commands/":
    "access/ audit/ http/ metrics/ processes/ settings/ app.ts commander node:cluster node:events node:http node:https node:stream node:stream/promises sealdex/core sealdex/wire",
  "main.ts": "commands/ settings/ commander node:fs sealdex/core",
};

/** Allowed imports: a folder or file of src/, and the folders, files and packages it may use besides itself. */
const table: Record<string, string> = {
  "errors.ts": "",
  "value-kinds.ts": "",
  "real-timers.ts": "",
  "response-text.ts": "errors.ts",
  "text/": "errors.ts check-input.ts option-names.ts",
  "engine/": "errors.ts real-timers.ts",
  "memoize.ts": "",
  "when-aborted.ts": "",
  "pause.ts": "real-timers.ts when-aborted.ts",
  "threads/": "real-timers.ts engine/kernels/ engine/work.ts errors.ts node:",
  "crypto/": "value-kinds.ts errors.ts node:crypto",
  "stored-json.ts": "errors.ts",
  "keys/":
    "value-kinds.ts crypto/ stored-json.ts response-text.ts errors.ts option-names.ts peer-package.ts node: @aws-sdk/client-kms",
  "storage/":
    "value-kinds.ts real-timers.ts threads/sort-yielding.ts threads/yield-to-event-loop.ts check-input.ts option-names.ts pause.ts when-aborted.ts errors.ts peer-package.ts node: @aws-sdk/client-s3 ioredis pg",
  "calls.ts": "value-kinds.ts when-aborted.ts errors.ts",
  "check-input.ts": "value-kinds.ts instance-name.ts engine/config.ts errors.ts",
  "json-text.ts": "check-input.ts",
  "generator-of.ts": "",
  "option-names.ts": "check-input.ts",
  "method-options.ts": "check-input.ts engine/config.ts option-names.ts vector-index.ts",
  "check-order.ts": "check-input.ts vector-index.ts",
  "selection.ts": "value-kinds.ts check-input.ts filter.ts method-options.ts option-names.ts vector-index.ts",
  "filter.ts": "filter-match.ts filter-operand.ts errors.ts",
  "filter-operand.ts": "filter-match.ts errors.ts instance-name.ts",
  "instance-name.ts": "value-kinds.ts",
  "filter-match.ts": "",
  "peer-package.ts": "value-kinds.ts errors.ts",
  "embedding/":
    "value-kinds.ts threads/yield-to-event-loop.ts errors.ts memoize.ts peer-package.ts option-names.ts sealdex-model node:",
  "items.ts": "embedding/image.ts text/highlights.ts",
  "result-options.ts": "",
  "probing.ts": "check-input.ts",
  "index-description.ts": "engine/config.ts",
  "namespace-options.ts": "result-options.ts",
  "write-options.ts": "filter.ts items.ts namespace-options.ts result-options.ts",
  "item-change.ts": "check-input.ts method-options.ts option-names.ts vector-index.ts",
  "listing-options.ts": "filter.ts items.ts namespace-options.ts result-options.ts",
  "wraps.ts": "client-options.ts result-options.ts",
  "client-options.ts": `text/text-options.ts result-options.ts keys/key-provider.ts embedding/ engine/config.ts storage/blob-store.ts
    storage/storage-location.ts`,
  "served-index.ts": "vector-index.ts",
  "vector-index.ts": `text/fusion.ts text/highlights.ts text/text-options.ts wraps.ts client-options.ts listing-options.ts namespace-options.ts probing.ts index-description.ts write-options.ts result-options.ts embedding/ items.ts engine/config.ts filter.ts storage/blob-store.ts
    storage/storage-location.ts`,
  "segment/":
    "engine/ crypto/ threads/yield-to-event-loop.ts text/analyzer.ts text/document-terms.ts storage/blob-store.ts stored-json.ts vector-index.ts errors.ts node:crypto",
  "commit/":
    "value-kinds.ts real-timers.ts crypto/ engine/config.ts keys/ stored-json.ts storage/absence.ts storage/blob-store.ts storage/holds-bytes.ts storage/join-bytes.ts errors.ts node:crypto",
  "search/": `stored-json.ts value-kinds.ts text/ commit/clock.ts commit/manifest.ts commit/manifest-log.ts commit/namespaces.ts segment/ engine/ threads/ crypto/keys.ts crypto/sealed-object.ts
    storage/blob-store.ts storage/memory.ts filter.ts filter-match.ts served-index.ts vector-index.ts memoize.ts errors.ts node:crypto`,
  "encrypted-index/": `value-kinds.ts real-timers.ts text/ commit/ search/ segment/ engine/ threads/ crypto/ keys/ storage/blob-store.ts storage/holds-bytes.ts storage/location.ts
    storage/retrying.ts storage/semaphore.ts storage/with-room.ts storage/probe.ts memoize.ts filter.ts embedding/ check-input.ts probing.ts json-text.ts option-names.ts
    generator-of.ts method-options.ts check-order.ts selection.ts item-change.ts served-index.ts vector-index.ts calls.ts when-aborted.ts stored-json.ts errors.ts node:crypto
    node:diagnostics_channel node:os node:util`,
  "service.ts":
    "wire.ts encrypted-index/for-loader.ts served-index.ts check-input.ts option-names.ts threads/yield-to-event-loop.ts",
  "wire.ts":
    "wire/ response-text.ts check-input.ts selection.ts vector-index.ts engine/config.ts filter.ts errors.ts",
  "wire/":
    "value-kinds.ts embedding/image.ts json-text.ts check-input.ts check-order.ts probing.ts option-names.ts method-options.ts selection.ts item-change.ts filter.ts served-index.ts vector-index.ts engine/config.ts errors.ts",
  "client/":
    "value-kinds.ts real-timers.ts wire.ts response-text.ts text/define-text.ts generator-of.ts calls.ts pause.ts when-aborted.ts check-input.ts option-names.ts method-options.ts selection.ts vector-index.ts filter.ts engine/config.ts errors.ts",
  "transfer/":
    "value-kinds.ts wire/values.ts embedding/image.ts json-text.ts generator-of.ts check-input.ts option-names.ts vector-index.ts filter.ts errors.ts",
  "reembed.ts": "transfer/namespace-batches.ts option-names.ts vector-index.ts",
  "core.ts": `option-names.ts storage/location.ts transfer/ reembed.ts check-input.ts client/client.ts encrypted-index/embedded-client.ts encrypted-index/check-locations.ts
    encrypted-index/collect-garbage.ts encrypted-index/orphans.ts
    encrypted-index/copy-index.ts encrypted-index/copy-objects.ts crypto/keys.ts keys/ engine/config.ts storage/blob-store.ts
    storage/storage-location.ts storage/retrying.ts embedding/ vector-index.ts filter.ts errors.ts`,
  "langchain/": `value-kinds.ts core.ts calls.ts generator-of.ts json-text.ts check-input.ts method-options.ts probing.ts option-names.ts selection.ts vector-index.ts engine/config.ts filter.ts embedding/ errors.ts @langchain/core/
    node:crypto node:util`,
  "langgraph/": `langchain/ check-input.ts probing.ts option-names.ts vector-index.ts filter.ts embedding/ @langchain/langgraph-checkpoint node:crypto
    node:util`,
  "index.ts": "core.ts langchain/",
};

const all = sources(src);
const server = sources(join(root, "packages", "server", "src"));
const dashboard = sources(join(root, "packages", "server", "admin"));
const everywhere = [...all, ...server, ...dashboard];

test.each([
  ["the library", all, table],
  ["the server", server, serverTable],
])("every file of %s imports only what its layer may", (_, files, rules) => {
  const broken: string[] = [];
  for (const { path, imports } of files) {
    const layer = Object.keys(rules).find(
      (name) => path === name || (name.endsWith("/") && path.startsWith(name)),
    );
    expect(layer, `${path} belongs to no layer`).toBeDefined();
    for (const { target } of imports) {
      const mayImport = [layer as string, ...rules[layer as string].split(/\s+/)];
      const granted = mayImport.some(
        (name) => target === name || (/[/:]$/.test(name) && target.startsWith(name)),
      );
      if (!granted) broken.push(`${path} may not import ${target}`);
    }
  }
  expect(broken).toEqual([]);
});

test.each([
  ["the library", all],
  ["the server", server],
])("no file of %s imports itself through others", (_, files) => {
  const imports = new Map(files.map((source) => [source.path, source.imports.map(({ target }) => target)]));
  const settled = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: string[]) => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(" > "));
    if (settled.has(path) || trail.includes(path)) return;
    for (const target of imports.get(path) ?? []) visit(target, [...trail, path]);
    settled.add(path);
  };
  for (const path of imports.keys()) visit(path, []);
  expect(cycles).toEqual([]);
});

test("every file is reached from a public entry", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    exports: Record<string, { import?: { default: string } }>;
  };
  const entries = Object.values(exports).flatMap((entry) => entry.import?.default ?? []);
  // A thread gets this module as a text.
  entries.push("embedding/inference-worker.ts");
  const reached = new Set<string>();
  const visit = (path: string) => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const { target } of all.find((source) => source.path === path)?.imports ?? []) visit(target);
  };
  for (const entry of entries) visit(entry.replace("./dist/esm/", "").replace(/\.js$/, ".ts"));
  expect(all.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
});

test("only one file touches ciphers, and it always fixes the tag length", () => {
  const users = everywhere.filter(({ text }) => /create(C|Dec)ipheriv|subtle\./.test(text));
  expect(users.map(({ path }) => path)).toEqual(["crypto/sealed-object.ts"]);
  const calls = users[0].text.match(/create(C|Dec)ipheriv\("[^;]*;/g) ?? [];
  expect(calls.length).toBe(2);
  for (const call of calls) expect(call).toContain("authTagLength: tagBytes");
});

test("what storage/ hashes is requests, which services want signed, in two files", () => {
  const users = all.filter(
    ({ path, text }) => path.startsWith("storage/") && /createH(ash|mac)\b/.test(text),
  );
  expect(users.map(({ path }) => path).sort()).toEqual(["storage/goog4.ts", "storage/payload-hash.ts"]);
});

test("snake_case property names stay on the wire", () => {
  const home =
    /^(wire\.ts|wire\/.*|schemas\.ts|schemas\/.*|issue-key\.tsx|embedding\/inference-worker\.ts|keys\/vault\.ts|settings\/google-token\.ts)$/;
  // Words in quotation marks are values, as the specification has them; LangChain's members and pg's option are their own.
  const found = everywhere
    .filter(({ path }) => !home.test(path))
    .flatMap(({ path, text }) => {
      const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|"[^"\n]*"|`[^`]*`/g, "");
      return [...code.matchAll(/\b(?!lc_|query_timeout)[a-z]+(?:_[a-z]+)+\b/g)].map(
        ([name]) => `${path}: ${name}`,
      );
    });
  expect(found).toEqual([]);
});

test("files have names that say what they hold, and stay short enough to be read", () => {
  const banned = /(^|\/)(utils?|helpers?|common|types|misc)\.tsx?$/;
  expect(everywhere.filter(({ path }) => banned.test(path)).map(({ path }) => path)).toEqual([]);
  const long = everywhere.filter(({ text }) => text.split("\n").length > 500);
  expect(long.map(({ path }) => path)).toEqual([]);
});

test("sources hold no console, no any, no empty catch, no stub", () => {
  const banned = [/\bconsole\./, /[:<]\s*any\b/, /catch\s*(\([^)]*\))?\s*\{\s*\}/, /\bTODO\b|\bFIXME\b/];
  for (const { path, text } of everywhere) {
    const code = text.replace(/\/\*[\s\S]*?\*\//g, "");
    for (const pattern of banned) expect(code, path).not.toMatch(pattern);
  }
});

test("values of others are told by what they are, since those of another realm are instances of another class", () => {
  const text = [...all, ...server]
    .map((source) => source.text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ""))
    .join("\n");
  const own = new Set(Array.from(text.matchAll(/\bclass (\w+)/g), ([, name]) => name));
  // Every client has a class of its own in either build of the package.
  own.delete("EmbeddedClient");
  const asked = Array.from(text.matchAll(/\binstanceof\s+(\w+)/g), ([, name]) => name);
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((name) => !own.has(name))).toEqual([]);
});

test("timers and the steady clock come from one file: fake ones of a test would stop what waits for them", () => {
  const users = all.filter(({ text }) => {
    const asks =
      /\b(?:setTimeout|clearTimeout|setImmediate|performance\.now|nextTick|queueMicrotask|setInterval)\(/.test(
        text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ""),
      );
    return asks && !/^import [^;]*real-timers\.js";$/m.test(text);
  });
  // Suites for tests, which may be under fake timers themselves.
  expect(users.map(({ path }) => path).sort()).toEqual([
    "storage/conformance-cases.ts",
    "storage/outage-cases.ts",
  ]);
});

test("only langchain/ and langgraph/ know LangChain", () => {
  const users = all.filter(({ imports }) => imports.some(({ target }) => target.startsWith("@langchain/")));
  expect(users.length).toBeGreaterThan(0);
  for (const { path } of users) expect(path).toMatch(/^lang(chain|graph)\//);
});

test("documents have one title each", () => {
  const documents = [
    "README.md",
    "docs/internals/architecture.md",
    "docs/internals/format.md",
    "CONTRIBUTING.md",
  ];
  for (const name of documents) {
    const prose = readFileSync(join(root, name), "utf8").replace(/```[\s\S]*?```/g, "");
    expect(prose.match(/^# /gm), name).toHaveLength(1);
  }
});

/** Phrases that make comments and documents hard to read, each with the words to use instead. */
const phrases: readonly (readonly [RegExp, string])[] = [
  [/\bwhat\b/i, "a noun: the value, the result, the rows, …"],
  [/\bin place of\b/i, "instead of"],
  [/\b(go|goes|going|went) on\b/i, "continue"],
  [/\bso many\b/i, "this many, or the number"],
  [/\bas of\b/i, "as for, like"],
  [/\blook(s|ed)? for\b/i, "search for, check, look up"],
  [/\b(some|no)body\b/i, "the process, the caller, the client"],
  [/\bneighbour|\bhonour|\bcolour|\b(recogn|quant|normal|organ)is(e|ed|es|ing)\b/i, "American spelling"],
];

/** Folders and files with other words still: to be shortened, and never to grow. */
const unrevised = [
  "docs/internals/architecture.md",
  "docs/internals/format.md",
  "src/commit/",
  "src/encrypted-index/",
  "src/engine/",
  "src/search/",
  "src/segment/",
];

/** Comments of a source, line by line, and whole documents. */
function proseOf(path: string, text: string): string[] {
  if (path.endsWith(".md")) return text.replaceAll(/```[^]*?```|`[^`]*`|\]\([^)]*\)/g, "").split("\n");
  const comment = /^\s*(?:\/\*\*?|\*|\/\/)(.*)$|\s\/\/\s(.*)$/;
  return text.split("\n").flatMap((line) => {
    const [, whole, behind] = comment.exec(line) ?? [];
    return whole ?? behind ?? [];
  });
}

test("comments and documents use plain words", () => {
  const documents = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    // The build of the site puts copies there.
    .filter((name) => name.endsWith(".md") && !name.startsWith("site"))
    .map((name) => ({ path: `docs/${name}`, text: readFileSync(join(root, "docs", name), "utf8") }));
  const code = [
    ...sources(src).map(({ path, text }) => ({ path: `src/${path}`, text })),
    ...server.map(({ path, text }) => ({ path: `packages/server/src/${path}`, text })),
  ];
  const found = [...code, ...documents]
    .filter(({ path }) => !unrevised.some((start) => path.startsWith(start)))
    .flatMap(({ path, text }) =>
      proseOf(path, text).flatMap((line) =>
        phrases
          .filter(([phrase]) => phrase.test(line))
          .map(
            ([phrase, better]) => `${path}: ${phrase.exec(line)?.[0]} (better: ${better}): ${line.trim()}`,
          ),
      ),
    );
  expect(found).toEqual([]);
});
