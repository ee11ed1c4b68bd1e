/** A file of settings: every setting is the same in it and in the environment, and no refusal repeats a value. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parseConfigFile } from "../../packages/server/src/settings/config-file.js";
import { limitSettings } from "../../packages/server/src/settings/limit-settings.js";
import { loadSettings, unknownVariables } from "../../packages/server/src/settings/load-settings.js";
import { readSettings } from "../../packages/server/src/settings/settings.js";
import { variables } from "../../packages/server/src/settings/settings-help.js";

const folder = mkdtempSync(join(tmpdir(), "sealdex-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

function load(text: string, environment: Record<string, string> = {}) {
  const path = join(folder, "sealdex.yaml");
  writeFileSync(path, text);
  return loadSettings(environment, path);
}

const names = variables.map(({ name }) => name);
const parse = (text: string, environment = {}) => parseConfigFile(text, "a.yaml", environment, names);

test("every setting is the same in a file and in the environment", () => {
  const limits = Object.values(limitSettings).map(({ name, min }) => [name, String(min)]);
  const environment: Record<string, string> = {
    ...Object.fromEntries(limits),
    SEALDEX_ROOT_KEY: "1".repeat(32),
    SEALDEX_API_KEYS: "one-of-16-letters,two-of-16-letters",
    SEALDEX_AUDIT_FOLDER: "./audit",
    SEALDEX_TRUST_PROXY: "10.0.0.0/8,::1",
    SEALDEX_INDEX_LOCATION: "s3://a:b@bucket/prefix?region=eu",
    SEALDEX_CONFIG_LOCATION: "postgres://u:p@host/db",
    SEALDEX_ANCHOR_LOCATION: "file:./anchors",
    SEALDEX_MAX_STALENESS_MS: "250",
    SEALDEX_AUTOMATIC_TRAINING: "off",
    SEALDEX_MODELS: "all-MiniLM-L6-v2",
    SEALDEX_MODEL_FOLDER: "./models",
    SEALDEX_MODEL_CACHE: "./cache",
    SEALDEX_MODEL_DOWNLOADS: "off",
    SEALDEX_HOST: "0.0.0.0",
    SEALDEX_PORT: "0",
  };
  const lines = Object.entries(environment).map(
    ([name, value]) => `${name.slice("SEALDEX_".length).toLowerCase()}: ${value}`,
  );
  expect(load(lines.join("\n"))).toEqual(readSettings(environment));
  expect(
    load(
      JSON.stringify(parse(lines.join("\n"))).replaceAll(/SEALDEX_(\w+)/g, (_, name: string) =>
        name.toLowerCase(),
      ),
    ),
  ).toEqual(readSettings(environment));
});

test("the environment wins, unless a variable is empty, and SEALDEX_CONFIG names the file, too", () => {
  const file = "index_location: file:./a\nport: 9000\nhost: example";
  const environment = { SEALDEX_PORT: "7000", SEALDEX_HOST: "" };
  expect(load(file, environment)).toMatchObject({ port: 7000, host: "example" });
  const path = join(folder, "sealdex.yaml");
  expect(loadSettings({ ...environment, SEALDEX_CONFIG: path })).toEqual(load(file, environment));
});

test("variables are filled in, as text that can add no setting", () => {
  const environment = { PASSWORD: "p\nport: 1", EMPTY: "" };
  expect(parse("host: a${PASSWORD}b", environment)).toEqual({ SEALDEX_HOST: "ap\nport: 1b" });
  expect(parse("host: ${EMPTY:-x}-${ABSENT:-y}-${ABSENT:-}", environment)).toEqual({ SEALDEX_HOST: "x-y-" });
  expect(parse("host: $${PASSWORD} $PASSWORD $$", environment)).toEqual({
    SEALDEX_HOST: "${PASSWORD} $PASSWORD $$",
  });
  expect(() => parse("host: ${ABSENT}")).toThrow(
    /^a.yaml: host: expected the environment variable ABSENT to be set$/,
  );
  expect(() => parse("host: ${EMPTY}", environment)).toThrow(/EMPTY to be set/);
});

test("values keep their text, lists and locations may be written as such", () => {
  const digits = `${"1234567890".repeat(3)}e5`;
  expect(parse(`root_key: ${digits}\nport: 0x10\nhost:\nmodels: []`)).toEqual({
    SEALDEX_ROOT_KEY: digits,
    SEALDEX_PORT: "0x10",
    SEALDEX_HOST: "",
    SEALDEX_MODELS: "",
  });
  const location = "\n  location: redis\n  connection_string: redis://${HOST}\n  allow_eviction: true\n";
  expect(load(`index_location: ${location}trust_proxy: [10.0.0.1, "::1"]`, { HOST: "h" })).toMatchObject({
    indexLocation: { location: "redis", connectionString: "redis://h", allowEviction: true },
    trustProxy: ["10.0.0.1", "::1"],
  });
  expect(parse("")).toEqual({});
  expect(parse("# nothing\n---\n")).toEqual({});
});

test.each<[string, RegExp]>([
  ["prot: 1", /^a.yaml: unknown property "prot"; did you mean "port"\? Expected root_key, /],
  ["SEALDEX_PORT: 1", /unknown property "SEALDEX_PORT"\. Expected root_key, /],
  ["Port: 1", /did you mean "port"\?/],
  ["saffron-saffron-saffron-saffron-saffron-saffron: 1", /^a.yaml: unknown property another name\. /],
  ["- saffron", /^a.yaml: expected names and values$/],
  ["saffron", /^a.yaml: expected names and values$/],
  ["host: [a, [saffron]]", /^a.yaml: host: expected a text or a number$/],
  ["index_location: { path: { saffron: x } }", /^a.yaml: index_location.path: expected a text or a number$/],
  [
    "host: a\nhost: saffron",
    /^a.yaml, line 2: not valid YAML \(DUPLICATE_KEY\); does a value need quotes\?$/,
  ],
  ["host: 'saffron", /^a.yaml, line \d: not valid YAML \(\w+\); does a value need quotes\?$/],
  ["host: *saffron", /^a.yaml: not valid YAML: an alias without an anchor/],
  ["host: saffron: saffron", /^a.yaml, line 1: not valid YAML \(\w+\); does a value need quotes\?$/],
  ["\tsaffron", /^a.yaml(, line 1)?: /],
  [`a: &a [x,x]\nb: &b [*a,*a]\nhost: [*b,*b]`, /^a.yaml: /],
])("refuses %j and repeats no value", (text, message) => {
  const attempt = () => parse(text);
  expect(attempt).toThrow(expect.objectContaining({ code: "invalid_request" }));
  expect(attempt).toThrow(message);
  expect(attempt).not.toThrow(/saffron/);
});

test("a file that cannot be read is refused, and variables that are no setting are named", () => {
  const attempt = () => loadSettings({}, join(folder, "absent.yaml"));
  expect(attempt).toThrow(/absent.yaml: the file cannot be read \(ENOENT\)$/);
  expect(unknownVariables({ SEALDEX_PROT: "saffron", SEALDEX_PORT: "1", PATH: "x" })).toEqual([
    expect.stringMatching(/^environment: unknown property "SEALDEX_PROT"; did you mean "SEALDEX_PORT"\?/),
  ]);
});
