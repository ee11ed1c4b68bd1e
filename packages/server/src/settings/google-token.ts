/**
 * Access tokens for Google Cloud KMS: for the service account of the machine or pod, from Google's
 * metadata server, or for the one whose key file the environment names (RFC 7523). One token per
 * call, since a service calls once per opening of an index.
 */

import { createPrivateKey, sign } from "node:crypto";
import { SealdexError } from "sealdex/core";
import { responseText } from "sealdex/wire";
import { readSecret } from "./secret-file.js";

const credentialsVariable = "GOOGLE_APPLICATION_CREDENTIALS";
const metadataServer = "metadata.google.internal";
const scope = "https://www.googleapis.com/auth/cloudkms";
const lifeSeconds = 600;
const timeoutMs = 10_000;
const answerBytesMax = 64 * 1024;

interface ServiceAccount {
  readonly client_email: string;
  readonly private_key: string;
  readonly token_uri: string;
}

/**
 * Returns a function that gets a token. It throws `forbidden` without such an account, otherwise
 * `storage_unavailable`.
 */
export function googleTokens(
  environment: Readonly<Record<string, string | undefined>>,
): () => Promise<string> {
  const { [credentialsVariable]: keyFile, GCE_METADATA_HOST: host } = environment;
  return keyFile ? () => tokenByKeyFile(keyFile) : () => tokenOfMachine(host || metadataServer);
}

function tokenOfMachine(host: string): Promise<string> {
  const path = "/computeMetadata/v1/instance/service-accounts/default/token";
  return askForToken(`http://${host}${path}?scopes=${encodeURIComponent(scope)}`, {
    headers: { "Metadata-Flavor": "Google" },
  });
}

async function tokenByKeyFile(path: string): Promise<string> {
  const account = parseKeyFile(await readSecret(path, credentialsVariable));
  const body = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion: assertionOf(account),
  });
  return askForToken(account.token_uri, { method: "POST", body });
}

function assertionOf({ client_email, private_key, token_uri }: ServiceAccount): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: client_email, scope, aud: token_uri, iat: now, exp: now + lifeSeconds };
  const text = [{ alg: "RS256", typ: "JWT" }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const signature = sign("RSA-SHA256", Buffer.from(text), createPrivateKey(private_key));
  return `${text}.${signature.toString("base64url")}`;
}

function parseKeyFile(text: string): ServiceAccount {
  let account: Partial<Record<keyof ServiceAccount | "type", unknown>> | null;
  try {
    account = JSON.parse(text) as typeof account;
    const { type, client_email, private_key, token_uri } = account ?? {};
    const isTrusted = typeof token_uri === "string" && /^(https:|http:\/\/127\.0\.0\.1[:/])/.test(token_uri);
    if (type === "service_account" && isTrusted && isText(client_email) && isText(private_key)) {
      createPrivateKey(private_key);
      return { client_email, private_key, token_uri };
    }
  } catch {
    // The error quotes the text.
  }
  throw new SealdexError(
    "storage_unavailable",
    `${credentialsVariable}: expected a file with the key of a service account, as Google Cloud makes it`,
  );
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

async function askForToken(url: string, init: RequestInit): Promise<string> {
  let status: number;
  try {
    const response = await fetch(url, { ...init, redirect: "error", signal: AbortSignal.timeout(timeoutMs) });
    const answer = JSON.parse(await responseText(response, answerBytesMax, "Google Cloud")) as {
      readonly access_token?: unknown;
    } | null;
    if (response.ok && isText(answer?.access_token)) return answer.access_token;
    ({ status } = response);
  } catch (cause) {
    throw failure("storage_unavailable", "no answer with an access token", cause);
  }
  throw failure(status >= 400 && status < 500 ? "forbidden" : "storage_unavailable", `status ${status}`);
}

function failure(code: "forbidden" | "storage_unavailable", received: string, cause?: unknown): SealdexError {
  return new SealdexError(code, `Google Cloud: expected an access token, got ${received}`, { cause });
}
