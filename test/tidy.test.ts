/** The rules of the code base that a machine can check. docs/internals/architecture.md explains them. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
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

/** Folders of the server, from the lowest, and their permitted imports. */
const serverTable: Record<string, string> = {
  "processes/": "node:cluster node:events node:timers/promises",
  "body/":
    "@streamparser/json ajv fastify node:buffer node:events node:http node:stream node:worker_threads node:zlib sealdex/core sealdex/wire",
  "http/":
    "body/ @fastify/cors @fastify/static @fastify/swagger @fastify/swagger-ui @fastify/type-provider-typebox @fastify/under-pressure @opentelemetry/api fastify node:crypto node:fs node:http node:net node:stream node:tls node:url node:v8 sealdex/core sealdex/wire",
  "indexes/": "http/ fastify node:crypto node:diagnostics_channel sealdex/core sealdex/wire",
  "access/": "http/ indexes/ processes/ fastify node:crypto rate-limiter-flexible sealdex/core sealdex/wire",
  "audit/":
    "access/ http/ settings/ fastify node:crypto node:fs/promises node:path sealdex/core sealdex/wire",
  "leaves/": "schemas/ node:crypto node:dns/promises node:perf_hooks sealdex/core sealdex/wire undici",
  "settings/": "http/ leaves/ node:crypto node:fs node:net node:url pino sealdex/core sealdex/wire yaml",
  "metrics/": "http/ indexes/ @opentelemetry/api fastify prom-client sealdex/core sealdex/wire",
  "schemas/":
    "access/ audit/ indexes/ metrics/ node:crypto sealdex/core sealdex/wire typebox typebox/compile",
  "routes/":
    "access/ audit/ http/ indexes/ metrics/ processes/ schemas/ fastify node:crypto node:http sealdex/core sealdex/wire",
  "app.ts": "access/ audit/ http/ indexes/ metrics/ processes/ routes/ fastify sealdex/core sealdex/wire",
  "jobs/":
    "settings/ @aws-sdk/client-s3 bullmq hyparquet hyparquet-compressors node:fs node:fs/promises node:path node:stream node:zlib sealdex/core sealdex/wire",
  "commands/":
    "access/ audit/ http/ jobs/ leaves/ metrics/ processes/ settings/ app.ts cli-progress commander node:cluster node:events node:fs/promises node:http node:https node:stream node:stream/promises sealdex/core sealdex/wire",
  "main.ts": "commands/ processes/ settings/ commander node:cluster node:fs sealdex/core",
};

/**
 * Folders and files of src/, from the lowest layer, and the folders, files and packages that each
 * may import besides itself. A path belongs to the first row that it starts with.
 */
const table: Record<string, string> = {
  "errors.ts": "",
  "checks/": "engine/config.ts errors.ts",
  "async/": "checks/ errors.ts node:async_hooks",
  "engine/threads/": "async/ engine/ errors.ts node:",
  "engine/": "async/timers.ts errors.ts",
  "text/": "checks/ engine/ errors.ts",
  "embedding/": "async/ checks/ errors.ts sealdex-model node:",
  "crypto/": "checks/ errors.ts node:crypto",
  "keys/": "checks/ crypto/ errors.ts @aws-sdk/client-kms node:",
  "storage/": "async/ checks/ errors.ts @aws-sdk/client-s3 ioredis pg node:",
  "api/filter/": "checks/ errors.ts",
  "api/transfer/": "api/ async/ checks/ client/wire/ embedding/ errors.ts",
  "api/": "async/profile.ts checks/ embedding/ engine/ keys/ storage/ text/ errors.ts",
  "state/cache/": "api/ async/ engine/ node:os",
  "state/segment/": "api/ async/ checks/ crypto/ engine/ state/cache/ storage/ text/ errors.ts",
  "state/commit/": "async/ checks/ crypto/ engine/config.ts keys/ storage/ errors.ts node:crypto",
  "query/snapshot/": "async/ checks/ crypto/ engine/ state/ storage/ errors.ts node:crypto",
  "query/words/": "api/ async/ checks/ engine/ query/ state/ text/ errors.ts",
  "query/": "api/ async/ checks/ engine/ keys/ state/ errors.ts node:crypto",
  "index/open/":
    "api/ async/ checks/ crypto/ embedding/ engine/ keys/ query/ state/ storage/ text/ errors.ts node:crypto",
  "index/maintenance/": "async/ checks/ crypto/ engine/ index/open/ query/ state/ storage/ errors.ts",
  "index/training/":
    "api/ async/ engine/ index/maintenance/ index/open/ query/ state/ errors.ts node:diagnostics_channel",
  "index/listing/": "api/ async/ checks/ engine/ index/open/ query/ state/ errors.ts node:crypto",
  "index/collection/":
    "api/ async/ checks/ crypto/ embedding/ engine/ index/ keys/ query/ state/ errors.ts node:crypto node:util",
  "index/locations/": "api/ checks/ index/ state/ storage/ errors.ts",
  "index/":
    "api/ async/ checks/ crypto/ embedding/ engine/ keys/ query/ state/ storage/ text/ errors.ts node:os node:util",
  "client/wire/": "api/ checks/ embedding/ engine/config.ts errors.ts",
  "client/": "api/ async/ checks/ engine/config.ts text/ errors.ts",
  "service.ts": "api/ async/ checks/ client/wire/ embedding/ index/ keys/ query/ storage/ errors.ts",
  "core.ts": "api/ checks/ client/ crypto/ embedding/ engine/ index/ keys/ storage/ errors.ts",
  "langchain/langgraph/":
    "api/ checks/ embedding/ langchain/ errors.ts @langchain/core/ @langchain/langgraph-checkpoint node:crypto node:util",
  "langchain/":
    "api/ async/ checks/ core.ts embedding/ engine/ errors.ts @langchain/core/ node:crypto node:util",
  "index.ts": "core.ts langchain/",
};

const all = sources(src);
const server = sources(join(root, "packages", "server", "src"));
const dashboard = sources(join(root, "packages", "server", "admin"));
const everywhere = [...all, ...server, ...dashboard];

test.each([
  ["the library", all, table],
  ["the server", server, serverTable],
])("every file of %s has only the imports of its layer", (_, files, rules) => {
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
  for (const entry of entries) visit(entry.replace("./dist/bundle/", "").replace(/\.js$/, ".ts"));
  expect(all.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
});

test("only one file touches ciphers, and it always fixes the tag length", () => {
  const users = everywhere.filter(({ text }) => /create(C|Dec)ipheriv|subtle\./.test(text));
  expect(users.map(({ path }) => path)).toEqual(["crypto/sealed-object.ts"]);
  const calls = users[0].text.match(/create(C|Dec)ipheriv\("[^;]*;/g) ?? [];
  expect(calls.length).toBe(2);
  for (const call of calls) expect(call).toContain("authTagLength: tagBytes");
});

test("two files of storage/ hash: requests, which services want signed", () => {
  const users = all.filter(
    ({ path, text }) => path.startsWith("storage/") && /createH(ash|mac)\b/.test(text),
  );
  expect(users.map(({ path }) => path).sort()).toEqual(["storage/goog4.ts", "storage/payload-hash.ts"]);
});

test("snake_case property names stay on the wire", () => {
  const home =
    /^(client\/wire\/.*|schemas\.ts|schemas\/.*|issue-key\.tsx|embedding\/inference-worker\.ts|keys\/vault\.ts|jobs\/read-items\.ts|settings\/google-token\.ts)$/;
  // Words in quotation marks are values, as the specification has them; LangChain's members and pg's option are their own.
  const found = everywhere
    .filter(({ path }) => !home.test(path))
    .flatMap(({ path, text }) => {
      const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|"[^"\n]*"|`[^`]*`/g, "");
      return [
        ...code.matchAll(/\b(?!lc_|query_timeout|thread_id|checkpoint_|channel_)[a-z]+(?:_[a-z]+)+\b/g),
      ].map(([name]) => `${path}: ${name}`);
    });
  expect(found).toEqual([]);
});

test("files have specific names, and stay short enough to be read", () => {
  const banned = /(^|\/)(utils?|helpers?|common|types|misc)\.tsx?$/;
  expect(everywhere.filter(({ path }) => banned.test(path)).map(({ path }) => path)).toEqual([]);
  const long = everywhere.filter(({ text }) => text.split("\n").length > 500);
  expect(long.map(({ path }) => path)).toEqual([]);
});

test("no folder has more than 30 files, and the first level has at most 14 folders", () => {
  const counts = new Map<string, number>();
  for (const { path } of all) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  expect([...counts].filter(([, count]) => count > 30)).toEqual([]);
  expect(counts.get(".")).toBeLessThanOrEqual(6);
  const first = new Set(all.filter(({ path }) => path.includes("/")).map(({ path }) => path.split("/")[0]));
  expect(first.size).toBeLessThanOrEqual(14);
});

/** Two lists of public names, and the faces, each method of which is a verb. */
const wide = new Set([
  "core.ts",
  "client/wire/wire.ts",
  "index/encrypted-index.ts",
  "langchain/encrypted-vector-store.ts",
]);

test("a file imports at most 20 others", () => {
  const found = all.filter(({ path, imports }) => {
    const own = new Set(imports.map(({ target }) => target).filter((target) => target.endsWith(".ts")));
    return own.size > 20 && !wide.has(path);
  });
  expect(found.map(({ path }) => path)).toEqual([]);
});

/** Short files that one neighbor imports, each of which is a noun or verb of its own. */
const small = new Map([
  ["api/wraps.ts", "public types"],
  ["engine/training/far-queries.ts", "an algorithm of its own"],
  ["index/delete-index.ts", "a verb"],
  ["index/list-indexes.ts", "a verb"],
  ["index/maintenance-jobs.ts", "the list of jobs"],
  ["index/upsert-items.ts", "a verb"],
  ["langchain/retriever.ts", "a public class"],
]);

test("no file is a page torn off its only importer", () => {
  const importers = new Map<string, Set<string>>();
  for (const { path, imports } of all) {
    for (const { target } of imports) importers.set(target, (importers.get(target) ?? new Set()).add(path));
  }
  const torn = all.filter(({ path, text }) => {
    const [user, ...others] = importers.get(path) ?? [];
    return others.length === 0 && user && dirname(user) === dirname(path) && text.split("\n").length <= 61;
  });
  expect(torn.map(({ path }) => path).filter((path) => !small.has(path))).toEqual([]);
});

test("no two files export one name", () => {
  // A class has the name of its interface; `sealdex/client` and `sealdex/core` have a `createClient` each.
  const allowed = new Set(["EmbeddedClient", "createClient"]);
  const owners = new Map<string, string>();
  const found: string[] = [];
  const pattern = /^export (?:async |abstract )?(?:const|function\*?|class|interface|type|let) ([\w$]+)/gm;
  for (const { path, text } of all) {
    for (const name of new Set(Array.from(text.matchAll(pattern), ([, each]) => each))) {
      const other = owners.get(name);
      if (other !== undefined && !allowed.has(name)) found.push(`${name}: ${other} and ${path}`);
      owners.set(name, path);
    }
  }
  expect(found).toEqual([]);
});

test("sources hold no console, no any, no empty catch, no stub", () => {
  const banned = [/\bconsole\./, /[:<]\s*any\b/, /catch\s*(\([^)]*\))?\s*\{\s*\}/, /\bTODO\b|\bFIXME\b/];
  for (const { path, text } of everywhere) {
    const code = text.replace(/\/\*[\s\S]*?\*\//g, "");
    for (const pattern of banned) expect(code, path).not.toMatch(pattern);
  }
});

test("no foreign class is checked by instanceof, since values of another realm have another class", () => {
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

test("timers and the steady clock come from one file: fake ones of a test would stop the code that waits for them", () => {
  const users = all.filter(({ text }) => {
    const asks =
      /\b(?:setTimeout|clearTimeout|setImmediate|performance\.now|nextTick|queueMicrotask|setInterval)\(/.test(
        text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ""),
      );
    return asks && !/^import [^;]*timers\.js";$/m.test(text);
  });
  // Suites for tests, which may be under fake timers themselves.
  expect(users.map(({ path }) => path).sort()).toEqual([
    "storage/conformance-cases.ts",
    "storage/outage-cases.ts",
  ]);
});

test("only langchain/ knows LangChain", () => {
  const users = all.filter(({ imports }) => imports.some(({ target }) => target.startsWith("@langchain/")));
  expect(users.length).toBeGreaterThan(0);
  for (const { path } of users) expect(path).toMatch(/^langchain\//);
});

/** README.md, CONTRIBUTING.md and the pages of docs/, without the copies that the build of the site makes. */
const documents = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md") && !name.startsWith("site"))
    .map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

test("documents name only files that exist", () => {
  const named = documents.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/`((?:test|src|bench|scripts)\/[\w/.-]+\.(?:ts|mjs))`/g), ([, file]) => ({
      path,
      file,
    })),
  );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter(({ file }) => !existsSync(join(root, file)))).toEqual([]);
});

test("documents have one title each", () => {
  for (const { path, text } of documents) {
    expect(text.replace(/```[\s\S]*?```/g, "").match(/^# /gm), path).toHaveLength(1);
  }
});

test("documents name only benchmarks and long tests that npm runs, and bench/README.md all benchmarks", () => {
  const program = readFileSync(join(root, "scripts", "run-by-name.mjs"), "utf8");
  const known = Array.from(
    program.matchAll(/^ {4}"?([\w-]+)"?: (bench|long)\(/gm),
    ([, name, kind]) => `${kind} ${name}`,
  );
  expect(known.length).toBeGreaterThan(20);
  const overview = readFileSync(join(root, "bench", "README.md"), "utf8");
  const texts = documents.map(({ text }) => text);
  const named = Array.from(
    [overview, ...texts].join("").matchAll(/npm run (bench|test:long) -- ([\w-]+)/g),
    ([, command, name]) => `${command === "bench" ? "bench" : "long"} ${name}`,
  );
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
  const inOverview = known
    .filter((name) => name.startsWith("bench "))
    .map((name) => name.slice("bench ".length));
  expect(inOverview.filter((name) => !overview.includes(`npm run bench -- ${name}`))).toEqual([]);
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
  const pages = documents.filter(({ path }) => path.startsWith("docs/"));
  const code = [
    ...sources(src).map(({ path, text }) => ({ path: `src/${path}`, text })),
    ...server.map(({ path, text }) => ({ path: `packages/server/src/${path}`, text })),
  ];
  const found = [...code, ...pages].flatMap(({ path, text }) =>
    proseOf(path, text).flatMap((line) =>
      phrases
        .filter(([phrase]) => phrase.test(line))
        .map(([phrase, better]) => `${path}: ${phrase.exec(line)?.[0]} (better: ${better}): ${line.trim()}`),
    ),
  );
  expect(found).toEqual([]);
});
