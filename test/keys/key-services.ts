/** Vault, Google Cloud KMS and AWS KMS as one server on this machine, which refuses what the real ones would refuse. */

import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export const token = "s.token-of-the-test";
export const secretAccessKey = "secret of the test";
export const requests: {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}[] = [];

/** The tokens that Vault and Google accept. */
export const tokens = new Set([token]);

/** Keys of the fake services, by name. Each authenticates its associated data. */
export const serviceKeys = new Map<string, Buffer>();

function seal(name: string, plaintext: Buffer, context: string): Buffer {
  const key = serviceKeys.get(name) ?? randomBytes(32);
  serviceKeys.set(name, key);
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: 16 });
  cipher.setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

function unseal(name: string, sealed: Buffer, context: string): Buffer | undefined {
  const key = serviceKeys.get(name) ?? randomBytes(32);
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, 12), { authTagLength: 16 });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(-16));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
  } catch {
    return undefined;
  }
}

const fromBase64 = (text: string) => Buffer.from(text, "base64");

/** The answers of each service: a status and a body. Requests that the real one would refuse are refused. */
function answer(path: string, headers: IncomingHttpHeaders, text: string): [number, object] {
  const body = JSON.parse(text) as Record<string, never>;
  const vault = /^\/v1\/transit\/(encrypt|decrypt)\/([\w-]+)$/.exec(path);
  if (vault !== null) {
    if (!tokens.has(String(headers["x-vault-token"]))) return [403, { errors: ["permission denied"] }];
    if (!serviceKeys.has(vault[2]) && vault[1] === "decrypt") return [404, { errors: [] }];
    if (vault[1] === "encrypt") {
      const sealed = seal(vault[2], fromBase64(body.plaintext), body.associated_data);
      return [200, { data: { ciphertext: `vault:v1:${sealed.toString("base64")}` } }];
    }
    const [, , sealed] = (body.ciphertext as string).split(":");
    const plaintext = unseal(vault[2], fromBase64(sealed), body.associated_data);
    if (plaintext === undefined) return [400, { errors: ["cipher: message authentication failed"] }];
    return [200, { data: { plaintext: plaintext.toString("base64") } }];
  }
  const google = /^\/v1\/(projects\/.*):(encrypt|decrypt)$/.exec(path);
  if (google !== null) {
    if (!tokens.has(String(headers.authorization).replace(/^Bearer /, ""))) return [401, {}];
    const context = body.additionalAuthenticatedData;
    if (google[2] === "encrypt") {
      const sealed = seal(google[1], fromBase64(body.plaintext), context);
      return [200, { ciphertext: sealed.toString("base64") }];
    }
    const plaintext = unseal(google[1], fromBase64(body.ciphertext), context);
    return plaintext === undefined ? [400, {}] : [200, { plaintext: plaintext.toString("base64") }];
  }
  if (!isSigned(headers, text)) return [400, { __type: "InvalidSignatureException" }];
  const context = JSON.stringify(body.EncryptionContext);
  if (headers["x-amz-target"] === "TrentService.Encrypt") {
    const sealed = seal(body.KeyId, fromBase64(body.Plaintext), context);
    return [200, { CiphertextBlob: sealed.toString("base64"), KeyId: body.KeyId }];
  }
  const plaintext = unseal(body.KeyId, fromBase64(body.CiphertextBlob), context);
  if (plaintext === undefined) return [400, { __type: "InvalidCiphertextException" }];
  return [200, { Plaintext: plaintext.toString("base64"), KeyId: body.KeyId }];
}

/** AWS Signature Version 4 of a request, computed here from its definition. */
function isSigned(headers: IncomingHttpHeaders, body: string): boolean {
  const [, scope, names, signature] =
    /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)/.exec(headers.authorization ?? "") ??
    [];
  if (signature === undefined) return false;
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  const signed = names.split(";").map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = ["POST", "/", "", signed.join(""), names, sha256(body)].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, sha256(canonical)].join("\n");
  const key = scope
    .split("/")
    .reduce<string | Buffer>(
      (parent, part) => createHmac("sha256", parent).update(part).digest(),
      `AWS4${secretAccessKey}`,
    );
  return createHmac("sha256", key).update(toSign).digest("hex") === signature;
}

export interface KeyServices {
  /** The address of all of them. */
  readonly base: string;
  close(): Promise<void>;
}

export async function startKeyServices(): Promise<KeyServices> {
  const server = createServer((request, response) => {
    void (async () => {
      const body = Buffer.concat(await request.toArray()).toString();
      const path = decodeURIComponent(request.url ?? "");
      requests.push({ path, headers: request.headers, body });
      const [status, reply] = answer(path, request.headers, body);
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(reply));
    })();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    base,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
