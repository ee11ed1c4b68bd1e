/** Settings from the environment: the values of each, and that no refusal repeats one. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { limitSettings } from "../../packages/server/src/settings/limit-settings.js";
import { defaultLimits, type Limits } from "../../packages/server/src/http/limits.js";
import { settingsHelp, variables } from "../../packages/server/src/settings/settings-help.js";
import { loadSettings } from "../../packages/server/src/settings/load-settings.js";
import { readSettings, requireKeys } from "../../packages/server/src/settings/settings.js";

const required = { SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_API_KEYS: "one-of-16-letters" };
const locationOf = (text: string) =>
  readSettings({ ...required, SEALDEX_INDEX_LOCATION: text }).indexLocation;

test("the variable that Kubernetes sets for a service named sealdex is not taken for a port", () => {
  expect(readSettings({ ...required, SEALDEX_PORT: "tcp://10.0.0.1:80" }).port).toBe(8000);
});

test("localhost is one address, also where it resolves to two", () => {
  expect(readSettings({ ...required, SEALDEX_HOST: "localhost" }).host).toBe("127.0.0.1");
});

test.each(["INDEX", "CONFIG", "ANCHOR"])(
  "several processes are refused with the %s location in memory",
  (which) => {
    const locations = { SEALDEX_INDEX_LOCATION: "file:./data", [`SEALDEX_${which}_LOCATION`]: "memory:" };
    expect(() => readSettings({ ...required, ...locations, SEALDEX_PROCESSES: "2" })).toThrow(
      /^SEALDEX_PROCESSES: expected 1 with the location memory:/,
    );
  },
);

test("two settings are needed, the others have defaults", () => {
  expect(readSettings({ ...required, SEALDEX_PORT: "", SEALDEX_HOST: "" })).toEqual({
    host: "127.0.0.1",
    port: 8000,
    indexLocation: { location: "memory" },
    apiKeys: ["one-of-16-letters"],
    trustProxy: [],
    dashboard: true,
    automaticTraining: true,
    corsOrigins: [],
    processes: 1,
    maxStalenessMs: 0,
    retentionMs: 900_000,
    oblivious: false,
    storageTimeoutMs: 15_000,
    models: { allowed: [], offline: false, failWhileLoading: true },
    limits: {},
  });
  const all = {
    SEALDEX_HOST: "0.0.0.0",
    SEALDEX_PORT: "0",
    SEALDEX_INDEX_LOCATION: "file:./data",
    SEALDEX_CONFIG_LOCATION: "file:///var/lib/sealdex",
    SEALDEX_API_KEYS: " one-of-16-letters, two-of-16-letters,,three-of-16-letters ",
    SEALDEX_ANCHOR_LOCATION: "file:./anchors",
    SEALDEX_AUTOMATIC_TRAINING: "off",
    SEALDEX_PROCESSES: "4",
    SEALDEX_MAX_STALENESS_MS: "250",
    SEALDEX_RETENTION_MS: "0",
    SEALDEX_OBLIVIOUS: "on",
    SEALDEX_STORAGE_TIMEOUT_MS: "2000",
    SEALDEX_MODELS: "all-MiniLM-L6-v2, default",
    SEALDEX_MODEL_DOWNLOADS: "off",
    SEALDEX_DASHBOARD: "off",
    SEALDEX_CORS_ORIGINS: "https://a.example",
  };
  expect(readSettings(all)).toEqual({
    host: "0.0.0.0",
    port: 0,
    indexLocation: { location: "local", path: "./data" },
    configLocation: { location: "local", path: "/var/lib/sealdex" },
    apiKeys: ["one-of-16-letters", "two-of-16-letters", "three-of-16-letters"],
    trustProxy: [],
    anchorLocation: { location: "local", path: "./anchors" },
    dashboard: false,
    automaticTraining: false,
    corsOrigins: ["https://a.example"],
    processes: 4,
    maxStalenessMs: 250,
    retentionMs: 0,
    oblivious: true,
    storageTimeoutMs: 2000,
    models: { allowed: ["all-MiniLM-L6-v2", "default"], offline: true, failWhileLoading: true },
    limits: {},
  });
});

test.each(["~/audit", "$HOME/audit", "file:///audit"])(
  "an audit folder of %s is refused by name",
  (folder) => {
    const wrong = () => readSettings({ ...required, SEALDEX_AUDIT_FOLDER: folder });
    expect(wrong).toThrow(/^SEALDEX_AUDIT_FOLDER: expected a path, got /);
  },
);

test("automatic training is on or off, nothing else", () => {
  const wrong = () => readSettings({ ...required, SEALDEX_AUTOMATIC_TRAINING: "secret" });
  expect(wrong).toThrow(/^SEALDEX_AUTOMATIC_TRAINING: expected on or off$/);
});

test.each([
  ["memory:", { location: "memory" }],
  ["file:./data", { location: "local", path: "./data" }],
  ["file:/srv/a b", { location: "local", path: "/srv/a b" }],
  ["file:///srv/a%20b", { location: "local", path: "/srv/a b" }],
  ["redis://u:p@host:6379/0", { location: "redis", connectionString: "redis://u:p@host:6379/0" }],
  ["rediss://host", { location: "redis", connectionString: "rediss://host" }],
  [
    "redis://:p@one:7001,two:7002?path=staging&allowEviction=true",
    {
      location: "redis",
      connectionString: "redis://:p@one:7001,two:7002",
      path: "staging",
      allowEviction: true,
    },
  ],
  [
    '{"location":"redis","connection_string":"redis://h","allow_eviction":false}',
    { location: "redis", connectionString: "redis://h", allowEviction: false },
  ],
  ["postgres://u:p@host/db", { location: "postgres", connectionString: "postgres://u:p@host/db" }],
  [
    "postgresql://host/db?sslmode=require&tableName=vectors",
    { location: "postgres", connectionString: "postgresql://host/db?sslmode=require", tableName: "vectors" },
  ],
  ["s3://bucket", { location: "s3", bucket: "bucket" }],
  [
    "s3://id:se%2Fcret@bucket/a/b?region=eu-north-1&endpoint=http%3A%2F%2F127.0.0.1%3A9000",
    {
      location: "s3",
      bucket: "bucket",
      path: "a/b",
      region: "eu-north-1",
      endpoint: "http://127.0.0.1:9000",
      accessKey: "id",
      secretKey: "se/cret",
    },
  ],
  ["gs://bucket/prefix", { location: "gcs", bucket: "bucket", path: "prefix" }],
  [
    "gs://GOOG1:se%2Bcret@my_bucket.example?endpoint=http%3A%2F%2F127.0.0.1%3A9000",
    {
      location: "gcs",
      bucket: "my_bucket.example",
      endpoint: "http://127.0.0.1:9000",
      accessKey: "GOOG1",
      secretKey: "se+cret",
    },
  ],
  ['{"location":"local","path":"x"}', { location: "local", path: "x" }],
  [
    '{"location":"postgres","connection_string":"c","tableName":"t"}',
    { location: "postgres", connectionString: "c", tableName: "t" },
  ],
])("reads the location %s", (text, location) => {
  expect(locationOf(text)).toEqual(location);
});

test.each([
  "saffron",
  "./saffron",
  "file:",
  "file://saffron/x",
  "http://saffron",
  "s3://",
  "redis://saffron?allowEviction=saffron",
  "redis://saffron?saffron=1",
  '{"location":"redis","allowEviction":"saffron"}',
  "s3://saffron:%zz@bucket",
  "postgres://u:saf#fron@host/database",
  "s3://bucket?regoin=saffron",
  "gs://saffron:secret@bucket?accessKey=saffron",
  '{"location":"saffron"}',
  '{"location":"local","saffron":"x"}',
  '{"location":"local","path":5}',
  '{"path":"saffron"}',
  '{"location":"local",saffron',
])("refuses the location %s and does not repeat it", (text) => {
  for (const name of ["SEALDEX_INDEX_LOCATION", "SEALDEX_CONFIG_LOCATION"]) {
    const attempt = () => readSettings({ ...required, [name]: text });
    expect(attempt).toThrow(expect.objectContaining({ code: "invalid_request" }));
    expect(attempt).toThrow(new RegExp(`^${name}: expected .*credentials percent-encoded`));
    expect(attempt).not.toThrow(/saf#?fron/);
  }
});

test.each([
  ["SEALDEX_INDEX_LOCATION", undefined],
  ["SEALDEX_INDEX_LOCATION", ""],
  ["SEALDEX_API_KEYS", "saf fron saf fron saf fron"],
  ["SEALDEX_API_KEYS", "säffron-säffron-säffron"],
  ["SEALDEX_API_KEYS", "saffronsaffrons"],
  ["SEALDEX_API_KEYS", "one-of-16-letters,saffron"],
  ["SEALDEX_PORT", "65536"],
  ["SEALDEX_RETENTION_MS", "900001"],
  ["SEALDEX_MAX_STALENESS_MS", "-1"],
  ["SEALDEX_MAX_STALENESS_MS", "1.5"],
  ["SEALDEX_MAX_STALENESS_MS", "1s"],
  ["SEALDEX_STORAGE_TIMEOUT_MS", "999"],
  ["SEALDEX_PORT", "-1"],
  ["SEALDEX_PROCESSES", "0"],
  ["SEALDEX_PROCESSES", "129"],
  ["SEALDEX_PROCESSES", "2"],
  ["SEALDEX_PROCESSES", "all"],
  ["SEALDEX_PORT", "80.5"],
  ["SEALDEX_PORT", "http"],
])("refuses %s=%s and names the expected value", (name, value) => {
  const attempt = () => readSettings({ ...required, [name]: value });
  expect(attempt).toThrow(expect.objectContaining({ code: "invalid_request" }));
  expect(attempt).toThrow(new RegExp(`^${name}: expected`));
  expect(attempt).not.toThrow(/fron/);
});

test("a root key has at least 32 printable characters, and one key of either kind is needed to serve", () => {
  const rootKey = "r".repeat(32);
  const settings = readSettings({ SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_ROOT_KEY: rootKey });
  expect(settings).toMatchObject({ rootKey, apiKeys: [] });
  requireKeys(settings);
  requireKeys(readSettings(required));
  const none = readSettings({ SEALDEX_INDEX_LOCATION: "memory:", SEALDEX_API_KEYS: " , " });
  expect(() => requireKeys(none)).toThrow(/^SEALDEX_ROOT_KEY: expected a key/);
  for (const wrong of ["saffron".padEnd(31, "x"), "saffron ".repeat(5), "säffron".repeat(5)]) {
    const attempt = () => readSettings({ ...required, SEALDEX_ROOT_KEY: wrong });
    expect(attempt).toThrow(/^SEALDEX_ROOT_KEY: expected at least 32/);
    expect(attempt).not.toThrow(/fron/);
  }
});

test.each([
  ["10.0.0.1", ["10.0.0.1"]],
  ["10.0.0.0/8, ::1, fd00::/8", ["10.0.0.0/8", "::1", "fd00::/8"]],
])("the proxies %s are trusted", (text, proxies) => {
  expect(readSettings({ ...required, SEALDEX_TRUST_PROXY: text }).trustProxy).toEqual(proxies);
});

test.each(["saffron", "10.0.0.0/x", "10.0.0.0/8/9", "10.0.0.0/33", "true"])(
  "the proxy %s is refused",
  (text) => {
    const attempt = () => readSettings({ ...required, SEALDEX_TRUST_PROXY: text });
    expect(attempt).toThrow(/^SEALDEX_TRUST_PROXY: expected/);
    expect(attempt).not.toThrow(/saffron/);
  },
);

describe("limits", () => {
  const limits = Object.entries(limitSettings).map(([limit, setting]) => ({ limit, ...setting }));

  test("each has a variable", () => {
    const set = Object.fromEntries(limits.map(({ name, min }) => [name, String(min)]));
    expect(readSettings({ ...required, ...set }).limits).toEqual(
      Object.fromEntries(limits.map(({ limit, min }) => [limit, min])),
    );
    expect(limits.map(({ limit }) => limit).sort()).toEqual(Object.keys(defaultLimits).sort());
  });

  test.each(limits)(
    "$name is an integer within bounds that its default keeps",
    ({ limit, name, min, max }) => {
      for (const text of ["x", "-1", "1.5", "1e3", " 5", String(min - 1), String(max + 1), "9".repeat(20)]) {
        const message = `${name}: expected an integer from ${min} to ${max}`;
        expect(() => readSettings({ ...required, [name]: text })).toThrow(message);
      }
      const byDefault = defaultLimits[limit as keyof Limits];
      expect(byDefault >= min && (byDefault <= max || byDefault === Infinity)).toBe(true);
    },
  );

  test("one request may not have more results than all together", () => {
    const set = { SEALDEX_RESULT_BYTES_MAX: "2000", SEALDEX_RESULTS_BYTES_MAX: "1999" };
    expect(() => readSettings({ ...required, ...set })).toThrow(
      /^SEALDEX_RESULTS_BYTES_MAX: expected at least SEALDEX_RESULT_BYTES_MAX, which is 2000$/,
    );
  });
});

test("docs/service.md and --help list the variables that are read, with their defaults", () => {
  const rows = settingRows("docs/service.md");
  expect(rows).toEqual(
    variables.map(({ name, byDefault, meaning }) => `| \`${name}\` | ${byDefault} | ${meaning} |`),
  );
  const read = new Set<string>();
  const environment = new Proxy(
    {},
    { get: (_, name) => (read.add(String(name)), required[name as keyof typeof required]) },
  );
  loadSettings(environment);
  expect(rows.map((row) => /SEALDEX_\w+/.exec(row)?.[0]).sort()).toEqual([...read].sort());
  for (const name of read) expect(settingsHelp()).toContain(`  ${name} (default: `);
});

test("the README's settings exist", () => {
  const names = settingRows("packages/server/README.md").map((row) => /SEALDEX_\w+/.exec(row)?.[0]);
  expect(names).toHaveLength(7);
  expect(variables.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
});

function settingRows(page: string): string[] {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  return text.split("\n").filter((line) => line.startsWith("| `SEALDEX_"));
}
