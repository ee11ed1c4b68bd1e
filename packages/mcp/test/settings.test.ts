/** Locations and keys, as the command line names them. */

import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { createClient, fileKey, generateKey } from "sealdex/core";
import { expect, test } from "vitest";
import { openKeySource } from "../src/key-source.js";
import { parseLocation } from "../src/location.js";
import { call, connectStdio, inStep, program, until, Workspace } from "./start-server.js";

test("locations", () => {
  const environment = { GCS_HMAC_ACCESS_ID: "id", GCS_HMAC_SECRET: "secret" };
  const parse = (text: string) => parseLocation(text, environment);
  expect(parse("~/index")).toEqual({ location: "local", path: join(homedir(), "index") });
  expect(parse("data")).toEqual({ location: "local", path: resolve("data") });
  expect(parse("s3://bucket/a/b?region=eu-north-1&endpoint=https%3A%2F%2Fs3.example")).toEqual({
    location: "s3",
    bucket: "bucket",
    path: "a/b",
    region: "eu-north-1",
    endpoint: "https://s3.example",
  });
  expect(parse("gs://bucket")).toEqual({
    location: "gcs",
    bucket: "bucket",
    accessKey: "id",
    secretKey: "secret",
  });
  for (const text of ["redis://host/1", "rediss://host"])
    expect(parse(text)).toEqual({ location: "redis", connectionString: text });
  for (const text of ["postgres://host/db", "postgresql://host/db"])
    expect(parse(text)).toEqual({ location: "postgres", connectionString: text });
  for (const text of ["s3://", "s3://user:secret@bucket", "s3://bucket?other=1", "ftp://host", "file:x"])
    expect(() => parse(text)).toThrow(/^--location: expected a folder, s3:[^@]*$/);
});

const run = (...args: readonly string[]) => promisify(execFile)(process.execPath, [program, ...args]);

test("the command line is checked at the start, and no error repeats a key", async () => {
  const key = generateKey();
  await expect(run()).rejects.toThrow("expected --key-file or --key");
  await expect(run("--key-file", "a", "--key", "file:b")).rejects.toThrow("cannot be used with");
  await expect(run("--key-file", "a", "--folder", "/none")).rejects.toThrow("there is no folder /none");
  await expect(run("--key-file", "a", "--http", "x")).rejects.toThrow("expected a port");
  const refused = (await run("--key", key).catch((error: unknown) => error)) as { stderr: string };
  expect(refused.stderr).toContain("--key: expected file:, passphrase-file:, keyring:");
  expect(refused.stderr).not.toContain(key);
});

test("a passphrase in a file opens an index again", async () => {
  const workspace = new Workspace();
  workspace.write("../passphrase", "six random words and some more\n");
  const key = `passphrase-file:${join(workspace.root, "passphrase")}`;
  for (const round of [1, 2]) {
    const client = await connectStdio(["--key", key, "--location", workspace.location]);
    if (round === 1) await call(client, "remember", { text: "Violets are blue." });
    expect((await call(client, "search", { query: "violets" })).text).toContain("Violets are blue.");
    await client.close();
  }
  workspace.remove();
});

test("a new machine gets the folder of the key, which is its owner's alone", async () => {
  const workspace = new Workspace();
  const home = join(workspace.root, "home", ".sealdex");
  const args = ["--key-file", join(home, "notes.key"), "--location", join(home, "mcp")];
  const client = await connectStdio(args);
  expect((await call(client, "remember", { text: "Violets are blue." })).text).toContain("Remembered");
  await client.close();
  if (process.platform !== "win32") expect(statSync(home).mode & 0o777).toBe(0o700);
  workspace.remove();
});

test("services and keyrings are named, not opened, until the index is", async () => {
  const open = (reference: string, environment = {}) =>
    openKeySource({ reference, create: false, environment });
  await expect(open("aws-kms:alias/notes")).resolves.toHaveProperty("indexKey.wrap");
  await expect(open("vault:https://host/transit/notes", { VAULT_TOKEN: "t" })).resolves.toHaveProperty(
    "indexKey.wrap",
  );
  await expect(open("vault:https://host/transit/notes")).rejects.toThrow("VAULT_TOKEN");
  await expect(open("keyring:of no user")).rejects.toThrow(/^keyring: /);
});

test("a read-only key opens a server that changes nothing, and a folder cannot be kept in step with it", async () => {
  const workspace = new Workspace();
  workspace.write("a.md", "Violets are blue.");
  workspace.write("../reader.key", generateKey());
  const reader = fileKey(join(workspace.root, "reader.key"));
  const owner = await connectStdio(workspace.args("--folder", workspace.notes));
  await until(owner, inStep(1));
  await owner.close();
  await using client = createClient({ indexLocation: { location: "local", path: workspace.location } });
  const index = await client.loadIndex({ indexName: "notes", indexKey: fileKey(workspace.keyFile) });
  await index.wraps.add({ name: "reader", key: reader, access: "read-only" });

  const args = ["--key-file", join(workspace.root, "reader.key"), "--location", workspace.location];
  const reading = await connectStdio([...args, "--read-only"]);
  expect((await call(reading, "search", { query: "violets" })).text).toContain("Violets are blue.");
  await reading.close();
  workspace.write("b.md", "Roses are red.");
  const writing = await connectStdio([...args, "--folder", workspace.notes]);
  const { folder } = await until(writing, (status) => status.folder?.state === "failed");
  expect(folder?.failure).toMatch(/read-only/);
  expect((await call(writing, "remember", { text: "x" })).isError).toBe(true);
  await writing.close();
  workspace.remove();
});
