/** Key providers: an index whose key a passphrase, a file, Vault, AWS KMS or Google Cloud KMS keeps. */

import { createHook } from "node:async_hooks";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KMSClient } from "@aws-sdk/client-kms";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  awsKmsKey,
  type BlobStore,
  createClient,
  fileKey,
  generateKey,
  googleKmsKey,
  type KeyProvider,
  passphraseKey,
  vaultKey,
} from "../../src/core.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { whole } from "../ranges.js";
import {
  type KeyServices,
  requests,
  secretAccessKey,
  serviceKeys,
  startKeyServices,
  token,
} from "./key-services.js";
import { codeOf } from "../outcome.js";

const indexName = "kept";
const resource = "projects/p/locations/global/keyRings/r/cryptoKeys/k";

let services: KeyServices;
let base = "";

beforeAll(async () => {
  services = await startKeyServices();
  ({ base } = services);
});

afterAll(() => services.close());

async function newKeyFile(): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), "sealdex-key-")), "key");
  await writeFile(path, `${generateKey()}\n`);
  return path;
}

function kms() {
  const credentials = { accessKeyId: "id", secretAccessKey };
  return new KMSClient({ endpoint: base, region: "eu-central-1", credentials, maxAttempts: 1 });
}

/** For each provider one that keeps a key, made twice, and another one of its kind. */
const providers: Record<string, () => Promise<[KeyProvider, KeyProvider, KeyProvider]>> = {
  passphrase: async () => [
    passphraseKey("six random words are a passphrase"),
    passphraseKey("six random words are a passphrase"),
    passphraseKey("six random words are another one"),
  ],
  file: async () => {
    const path = await newKeyFile();
    return [fileKey(path), fileKey(path), fileKey(await newKeyFile())];
  },
  Vault: async () => {
    const options = { address: base, token, key: "articles" };
    return [
      vaultKey(options),
      vaultKey({ ...options, token: async () => token }),
      vaultKey({ ...options, key: "b" }),
    ];
  },
  "Google Cloud KMS": async () => {
    const options = { name: resource, accessToken: () => token, endpoint: base };
    return [googleKmsKey(options), googleKmsKey(options), googleKmsKey({ ...options, name: `${resource}2` })];
  },
  "AWS KMS": async () => [
    awsKmsKey({ keyId: "arn:one", client: kms() }),
    awsKmsKey({ keyId: "arn:one", client: kms() }),
    awsKmsKey({ keyId: "arn:two", client: kms() }),
  ],
};

function open(store: BlobStore) {
  return createClient({ indexLocation: store });
}

describe.each(Object.keys(providers))("%s", (kind) => {
  test("keeps the key of an index, and another of its kind does not open it", async () => {
    const [key, same, other] = await providers[kind]();
    const store = createMemoryStore();
    const index = await open(store).createIndex({ indexName, indexKey: key });
    await index.upsert([{ id: "a", vector: [1, 2] }]);
    const loaded = await open(store).loadIndex({ indexName, indexKey: same });
    expect(await loaded.listIds()).toEqual(["a"]);
    expect(await codeOf(open(store).loadIndex({ indexName, indexKey: other }))).toBe("wrong_index_key");
    expect(await codeOf(open(store).loadIndex({ indexName, indexKey: generateKey() }))).toBe(
      "wrong_index_key",
    );
    expect(await index.wraps.list()).toEqual([{ name: "owner", access: "owner", provider: key.name }]);
  });

  test("wraps for one index only: a key wrapped for another opens nothing", async () => {
    const [key] = await providers[kind]();
    const salt = "00".repeat(32);
    const [one, two] = ["00".repeat(16), "01".repeat(16)].map((indexId) => ({ indexId, salt }));
    const plain = randomBytes(32);
    const wrapped = await key.wrap(Uint8Array.from(plain), one);
    expect(Buffer.from(await key.unwrap(wrapped, one))).toEqual(plain);
    expect(await codeOf(key.unwrap(wrapped, two))).toBe("wrong_index_key");
    const damaged = Uint8Array.from(wrapped);
    damaged[damaged.length - 5] ^= 1;
    expect(await codeOf(key.unwrap(damaged, one))).toBe("wrong_index_key");
    expect(Buffer.from(wrapped).includes(plain)).toBe(false);
  });

  test("takes the place of a key, and gives way to one, by rotation; and is a wrap beside a key", async () => {
    const [key, same] = await providers[kind]();
    const store = createMemoryStore();
    const hex = generateKey();
    const index = await open(store).createIndex({ indexName, indexKey: hex });
    await index.rotateKey(key);
    expect(await codeOf(open(store).loadIndex({ indexName, indexKey: hex }))).toBe("wrong_index_key");
    const loaded = await open(store).loadIndex({ indexName, indexKey: same });
    await loaded.rotateKey(hex);
    expect(await codeOf(open(store).loadIndex({ indexName, indexKey: key }))).toBe("wrong_index_key");
    await loaded.wraps.add({ name: "service", key, access: "read-only" });
    const reader = await open(store).loadIndex({ indexName, indexKey: same });
    expect(await reader.count()).toBe(0);
    await loaded.wraps.revoke("service");
    expect(await codeOf(reader.count())).toBe("wrong_index_key");
  });
});

test("the plaintext key is zeroed after a provider wrapped it", async () => {
  const [key] = await providers.Vault();
  const received: Uint8Array[] = [];
  const indexKey: KeyProvider = {
    ...key,
    async wrap(plain, context) {
      received.push(plain);
      expect([...plain].some((byte) => byte !== 0)).toBe(true);
      return key.wrap(plain, context);
    },
  };
  const client = open(createMemoryStore());
  await client.createIndex({ indexName, indexKey });
  expect(received).toEqual([new Uint8Array(32)]);
  expect(await codeOf(client.loadIndex({ indexName, indexKey: key }))).toBe("done");
});

test("two wraps of one provider both open the index", async () => {
  const [key] = await providers.Vault();
  const store = createMemoryStore();
  const index = await open(store).createIndex({ indexName, indexKey: generateKey() });
  for (const name of ["one", "two"]) await index.wraps.add({ name, key, access: "read-only" });
  await index.wraps.revoke("one");
  expect(await codeOf(open(store).loadIndex({ indexName, indexKey: key }))).toBe("done");
});

test("refusals of services have distinct errors, and no message contains a token or an answer", async () => {
  const store = createMemoryStore();
  const options = { address: base, token, key: "refusals" };
  await open(store).createIndex({ indexName, indexKey: vaultKey(options) });
  const attempt = (indexKey: KeyProvider) => open(store).loadIndex({ indexName, indexKey });
  const denied = vaultKey({ ...options, token: "s.another-token" });
  await expect(attempt(denied)).rejects.toMatchObject({ code: "forbidden" });
  await expect(attempt(denied)).rejects.not.toThrow(/another-token|permission denied/);
  serviceKeys.delete("refusals");
  expect(await codeOf(attempt(vaultKey(options)))).toBe("not_found");
  const silent = vaultKey({ ...options, address: "http://127.0.0.1:1" });
  expect(await codeOf(open(store).createIndex({ indexName: "b", indexKey: silent }))).toBe(
    "storage_unavailable",
  );
});

test("Vault is asked as its interface says, and its token goes nowhere without TLS", async () => {
  const before = requests.length;
  const provider = vaultKey({ address: base, token, key: "asked", namespace: "team" });
  await provider.wrap(new Uint8Array(32), { indexId: "ab".repeat(16), salt: "cd".repeat(32) });
  const [{ path, headers, body }] = requests.slice(before);
  expect(path).toBe("/v1/transit/encrypt/asked");
  expect(headers).toMatchObject({
    "x-vault-token": token,
    "x-vault-namespace": "team",
    "x-vault-request": "true",
  });
  const context = Buffer.from("ab".repeat(16), "hex").toString("base64");
  expect(JSON.parse(body)).toEqual({
    plaintext: Buffer.alloc(32).toString("base64"),
    associated_data: context,
  });
  for (const address of ["http://vault.example.com:8200", "ftp://127.0.0.1", "vault", ""]) {
    expect(() => vaultKey({ address, token, key: "k" })).toThrow("expected an https URL");
  }
});

test("Google's access token goes nowhere without TLS", () => {
  const options = { name: resource, accessToken: () => token };
  for (const endpoint of ["http://kms.example.com", "ftp://127.0.0.1", "kms", ""]) {
    expect(() => googleKmsKey({ ...options, endpoint })).toThrow("endpoint: expected an https URL");
  }
});

test("invalid providers are refused", async () => {
  expect(() => passphraseKey("short")).toThrow("at least 12 characters");
  expect(() => fileKey("")).toThrow("expected its path");
  expect(() => awsKmsKey({ keyId: "" })).toThrow("keyId");
  expect(() => googleKmsKey({ name: "projects/p", accessToken: () => token })).toThrow("cryptoKeys");
  const indexKey = { name: "x", wrap: async () => "text", unwrap: async () => new Uint8Array(0) } as never;
  const client = open(createMemoryStore());
  expect(await codeOf(client.createIndex({ indexName, indexKey }))).toBe("invalid_request");
  expect(await codeOf(client.createIndex({ indexName, indexKey: { name: "x" } as never }))).toBe(
    "invalid_request",
  );
  expect(await codeOf(client.createIndex({ indexName, indexKey: fileKey("/nowhere/key") }))).toBe(
    "not_found",
  );
});

/** The index's record with so many wraps of the same provider before the owner's own, as whoever holds the storage can make it. */
async function withForgedWraps(store: BlobStore, provider: string, count: number): Promise<BlobStore> {
  const [name] = await store.list("names/", { limit: 1 });
  const record = Buffer.from((await store.read(name, whole)) as Uint8Array);
  const tag = createHash("sha256")
    .update("sealdex/1/provider\0")
    .update(record.subarray(8, 24))
    .update(provider, "utf8")
    .digest();
  const u32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return bytes;
  };
  const forged = () => Buffer.concat([randomBytes(32), tag, u32(80), randomBytes(80), u32(0)]);
  const own = record.subarray(68, -32);
  const wraps = [...Array.from({ length: count }, forged), own];
  const body = Buffer.concat([record.subarray(0, 64), u32(wraps.length), ...wraps]);
  const copy = createMemoryStore();
  for (const key of await store.list("")) {
    const bytes = key === name ? Buffer.concat([body, sha256(body)]) : await store.read(key, whole);
    await copy.create(key, bytes as Uint8Array);
  }
  return copy;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

describe("a record with many forged wraps", () => {
  test("costs one computation of scrypt", async () => {
    const store = createMemoryStore();
    const indexKey = passphraseKey("six random words are a passphrase");
    await open(store).createIndex({ indexName, indexKey });
    const forged = await withForgedWraps(store, indexKey.name, 40);
    let computations = 0;
    const hook = createHook({
      init: (_, type) => {
        if (type === "SCRYPTREQUEST") computations++;
      },
    }).enable();
    const index = await open(forged).loadIndex({ indexName, indexKey });
    hook.disable();
    expect(computations).toBe(1);
    expect(await index.listIds()).toEqual([]);
  });

  test("is damaged if it has more than an index may have", async () => {
    const store = createMemoryStore();
    const indexKey = fileKey(await newKeyFile());
    await open(store).createIndex({ indexName, indexKey });
    const most = await withForgedWraps(store, indexKey.name, 255);
    expect(await codeOf(open(most).loadIndex({ indexName, indexKey }))).toBe("done");
    const more = await withForgedWraps(store, indexKey.name, 256);
    expect(await codeOf(open(more).loadIndex({ indexName, indexKey }))).toBe("corrupt");
  });

  test("is asked of the provider no longer when the call was aborted, and always in one context", async () => {
    const store = createMemoryStore();
    const file = fileKey(await newKeyFile());
    const controller = new AbortController();
    const contexts: unknown[] = [];
    let abortAt = Infinity;
    const indexKey: KeyProvider = {
      ...file,
      unwrap(wrapped, context) {
        contexts.push(context);
        if (contexts.length === abortAt) controller.abort(new Error("stop"));
        return file.unwrap(wrapped, context);
      },
    };
    await open(store).createIndex({ indexName, indexKey });
    const forged = await withForgedWraps(store, indexKey.name, 40);
    const { signal } = controller;
    await open(forged).loadIndex({ indexName, indexKey, signal });
    expect(contexts).toHaveLength(41);
    expect(new Set(contexts).size).toBe(1);
    contexts.length = 0;
    abortAt = 3;
    const client = open(forged);
    await expect(client.loadIndex({ indexName, indexKey, signal })).rejects.toThrow("stop");
    await client.close();
    expect(contexts).toHaveLength(3);
  });
});
