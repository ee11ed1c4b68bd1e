/** `SEALDEX_INDEX_KEY`: each kind of reference leads to its key service, with the credentials of the environment. */

import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createClient, fileKey, generateKey, type KeyProvider, passphraseKey } from "../../src/core.js";
import { parseIndexKeyProvider } from "../../packages/server/src/settings/index-key.js";
import { createMemoryStore } from "../../src/storage/memory.js";
import { type KeyServices, requests, startKeyServices, token, tokens } from "../keys/key-services.js";
import { startService } from "./service.js";

let folder: string;
let services: KeyServices;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sealdex-index-key-"));
  services = await startKeyServices();
});
beforeEach(() => {
  tokens.clear();
  tokens.add(token);
});
afterAll(async () => {
  await services.close();
  await rm(folder, { recursive: true });
});

async function newFile(text: string): Promise<string> {
  const path = join(await mkdtemp(join(folder, "file-")), "secret");
  await writeFile(path, text);
  return path;
}

/** The code with which an index of this provider's is made and opened again. */
async function codeOf(indexKey: KeyProvider): Promise<string> {
  const indexLocation = createMemoryStore();
  const address = { indexName: "kept", indexKey };
  try {
    await createClient({ indexLocation }).createIndex(address);
    await createClient({ indexLocation }).loadIndex(address);
    return "done";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe("a passphrase in a file", () => {
  const passphrase = "six random words are a passphrase";

  test("opens keys that the library wraps by it, and is no part of the settings", async () => {
    const path = await newFile(`${passphrase}\r\n`);
    const service = await startService({
      indexKey: parseIndexKeyProvider(`passphrase-file:${path}`, {}),
    });
    const address = { index_name: "kept" };
    expect((await service.post("/v1/indexes/create", address)).status).toBe(200);
    expect((await service.post("/v1/indexes/describe", address)).status).toBe(200);
    await service.close();
    const wrapped = await passphraseKey(passphrase).wrap(new Uint8Array(32), {
      indexId: "ab".repeat(16),
      salt: "cd".repeat(32),
    });
    const provider = parseIndexKeyProvider(`passphrase-file:${path}`, {});
    expect(await provider.unwrap(wrapped, { indexId: "ab".repeat(16), salt: "cd".repeat(32) })).toHaveLength(
      32,
    );
    expect(inspect(provider, { depth: 9, showHidden: true })).not.toContain(passphrase);
  });

  test("is refused at the start if it is too short, or the file is not there", async () => {
    const attempt = (path: string) => () => parseIndexKeyProvider(`passphrase-file:${path}`, {});
    expect(attempt(await newFile("short\n"))).toThrow(
      /^SEALDEX_INDEX_KEY: passphrase: expected at least 12 characters$/,
    );
    expect(attempt(await newFile(""))).toThrow(/at least 12 characters/);
    expect(attempt("/nowhere/passphrase")).toThrow(
      /^SEALDEX_INDEX_KEY: \/nowhere\/passphrase: the file cannot be read \(ENOENT\)$/,
    );
  });
});

describe("a key file", () => {
  test("opens keys that the library wraps by it", async () => {
    const path = await newFile(`${generateKey()}\n`);
    const context = { indexId: "ab".repeat(16), salt: "cd".repeat(32) };
    const wrapped = await fileKey(path).wrap(new Uint8Array(32), context);
    expect(await parseIndexKeyProvider(`file:${path}`, {}).unwrap(wrapped, context)).toHaveLength(32);
  });

  test("is refused at the start if it is not there, or has no key", async () => {
    const attempt = (path: string) => () => parseIndexKeyProvider(`file:${path}`, {});
    const path = await newFile(generateKey().slice(1));
    expect(attempt(path)).toThrow(
      `SEALDEX_INDEX_KEY: ${path}: expected a file with a key, 64 hexadecimal characters`,
    );
    expect(attempt(generateKey())).toThrow(/^SEALDEX_INDEX_KEY: key file: expected its path, got a key$/);
    expect(attempt("/nowhere/index.key")).toThrow(
      /^SEALDEX_INDEX_KEY: \/nowhere\/index.key: the file cannot be read \(ENOENT\)$/,
    );
  });
});

describe("Vault", () => {
  const vault = (environment: Record<string, string>) =>
    parseIndexKeyProvider(`vault:${services.base}/transit/articles`, environment);

  test("gets the token of the file as it is now, so that an agent can renew it", async () => {
    const path = await newFile("s.first\n");
    tokens.add("s.first");
    const provider = vault({ VAULT_TOKEN_FILE: path, VAULT_NAMESPACE: "team" });
    expect(await codeOf(provider)).toBe("done");
    expect(requests.at(-1)?.headers).toMatchObject({
      "x-vault-token": "s.first",
      "x-vault-namespace": "team",
    });
    tokens.delete("s.first");
    tokens.add("s.second");
    expect(await codeOf(provider)).toBe("forbidden");
    await writeFile(path, "s.second");
    expect(await codeOf(provider)).toBe("done");
    expect(requests.at(-1)?.headers["x-vault-token"]).toBe("s.second");
    await rm(path);
    expect(await codeOf(provider)).toBe("storage_unavailable");
  });

  test("gets no token that would break a header, and no error repeats it", async () => {
    for (const text of ["", "\n", "s.sec\nret", "s.secret\u00e9", "s.sec ret"]) {
      const before = requests.length;
      const provider = vault({ VAULT_TOKEN_FILE: await newFile(text) });
      const error: unknown = await provider
        .wrap(new Uint8Array(32), { indexId: "ab".repeat(16), salt: "cd".repeat(32) })
        .catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "forbidden" });
      expect(inspect(error)).not.toContain("s.sec");
      expect(requests).toHaveLength(before);
    }
  });

  test("gets the token of the environment, and there is one place for it", async () => {
    expect(await codeOf(vault({ VAULT_TOKEN: token }))).toBe("done");
    for (const environment of [{}, { VAULT_TOKEN: token, VAULT_TOKEN_FILE: "/token" }]) {
      expect(() => vault(environment as Record<string, string>)).toThrow(
        /^SEALDEX_INDEX_KEY: expected a token in VAULT_TOKEN, or a file with one in VAULT_TOKEN_FILE$/,
      );
    }
  });
});

describe("Google Cloud KMS", () => {
  const name = "projects/p/locations/europe/keyRings/r/cryptoKeys/k";
  const google = (environment: Record<string, string>) =>
    parseIndexKeyProvider(`google-kms:${name}?endpoint=${services.base}`, environment);

  /** A server on this machine. `answer`: to each request, a status and a body. */
  async function startServer(answer: (request: IncomingMessage, body: string) => [number, string]) {
    const server = createServer((request, response) => {
      void (async () => {
        const [status, text] = answer(request, Buffer.concat(await request.toArray()).toString());
        response.writeHead(status).end(text);
      })();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    return {
      host: `127.0.0.1:${port}`,
      [Symbol.dispose]() {
        server.closeAllConnections();
        server.close();
      },
    };
  }

  const granted = JSON.stringify({ access_token: token, expires_in: 3599, token_type: "Bearer" });

  test("is asked with the token of the machine's service account", async () => {
    const asked: string[] = [];
    using metadata = await startServer(({ method, url = "", headers }) => {
      asked.push(`${method} ${url}`);
      return headers["metadata-flavor"] === "Google" ? [200, granted] : [403, "{}"];
    });
    const provider = google({ GCE_METADATA_HOST: metadata.host });
    expect(provider.name).toBe(`google-kms:${name}`);
    expect(await codeOf(provider)).toBe("done");
    expect(asked[0]).toBe(
      "GET /computeMetadata/v1/instance/service-accounts/default/token" +
        "?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloudkms",
    );
    const { path, headers } = requests[requests.length - 1];
    expect(path).toBe(`/v1/${name}:decrypt`);
    expect(headers.authorization).toBe(`Bearer ${token}`);
  });

  test("a machine without a service account, or without a metadata server, has no token", async () => {
    for (const [status, text, code] of [
      [404, "{}", "forbidden"],
      [404, "<html>", "storage_unavailable"],
      [503, "{}", "storage_unavailable"],
      [200, "{}", "storage_unavailable"],
      [200, "null", "storage_unavailable"],
      [200, '{"access_token":7}', "storage_unavailable"],
      [200, '{"access_token":"a\\nb"}', "forbidden"],
    ] as const) {
      using metadata = await startServer(() => [status, text]);
      expect(await codeOf(google({ GCE_METADATA_HOST: metadata.host })), text).toBe(code);
    }
    expect(await codeOf(google({ GCE_METADATA_HOST: "127.0.0.1:1" }))).toBe("storage_unavailable");
  });

  test("a service account with a key file signs for its token, and nothing of the key travels", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const bodies: URLSearchParams[] = [];
    using authority = await startServer((_, body) => {
      const sent = new URLSearchParams(body);
      bodies.push(sent);
      const [head, claims, signature] = (sent.get("assertion") ?? "").split(".");
      const isSigned = verify(
        "RSA-SHA256",
        Buffer.from(`${head}.${claims}`),
        createPublicKey(publicKey.export({ type: "spki", format: "pem" })),
        Buffer.from(signature, "base64url"),
      );
      return isSigned ? [200, granted] : [400, '{"error":"invalid_grant"}'];
    });
    const account = {
      type: "service_account",
      client_email: "sealdex@p.iam.gserviceaccount.com",
      private_key: pem,
      token_uri: `http://${authority.host}/token`,
    };
    const path = await newFile(JSON.stringify(account));
    const environment = { GOOGLE_APPLICATION_CREDENTIALS: path, GCE_METADATA_HOST: "127.0.0.1:1" };
    expect(await codeOf(google(environment))).toBe("done");
    expect(bodies[0].get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    const [head, claims] = (bodies[0].get("assertion") ?? "")
      .split(".", 2)
      .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, number>);
    expect(head).toEqual({ alg: "RS256", typ: "JWT" });
    expect(claims).toMatchObject({
      iss: account.client_email,
      aud: account.token_uri,
      scope: "https://www.googleapis.com/auth/cloudkms",
    });
    expect(claims.exp - claims.iat).toBe(600);
    // Another key than the account's.
    const { privateKey: other } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const stolen = other.export({ type: "pkcs8", format: "pem" }).toString();
    await writeFile(path, JSON.stringify({ ...account, private_key: stolen }));
    expect(await codeOf(google(environment))).toBe("forbidden");
    for (const wrong of [
      "",
      "null",
      "{",
      JSON.stringify({ ...account, type: "authorized_user" }),
      JSON.stringify({ ...account, private_key: "secret" }),
      JSON.stringify({ ...account, token_uri: "http://example.com/token" }),
    ]) {
      await writeFile(path, wrong);
      const error: unknown = await google(environment)
        .wrap(new Uint8Array(32), { indexId: "ab".repeat(16), salt: "cd".repeat(32) })
        .catch((reason: unknown) => reason);
      expect(error, wrong).toMatchObject({
        code: "storage_unavailable",
        message: /^GOOGLE_APPLICATION_CREDENTIALS: expected a file with the key of a service account/,
      });
      expect(inspect(error)).not.toMatch(/secret|PRIVATE KEY/);
    }
    expect(bodies.map(String).join("")).not.toContain("PRIVATE");
  });

  test.each([
    "google-kms:projects/p",
    "google-kms:secret?endpoint=https://kms.example.com",
    `google-kms:${name}?endpoint=http://secret.example.com`,
    `google-kms:${name}?token=secret`,
  ])("is not asked about invalid references: %s", (reference) => {
    const attempt = () => parseIndexKeyProvider(reference, {});
    expect(attempt).toThrow(/^SEALDEX_INDEX_KEY: .*expected/);
    expect(attempt).not.toThrow("secret");
  });
});
