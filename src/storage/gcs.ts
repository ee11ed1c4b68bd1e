/**
 * Blobs as objects of a Google Cloud Storage bucket, through its XML interface with an HMAC key and
 * no SDK. Google's imitation of S3 ignores conditions on writes; here `x-goog-if-generation-match:
 * 0` creates an object only if there is none.
 */

import {
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isError } from "../checks/value-kinds.js";
import type { BlobStore, ByteRange } from "./blob-store.js";
import type { BucketLocation } from "./bucket-location.js";
import { codeFrom, ServiceError } from "./failure.js";
import { canonicalQuery, type HmacKey, signed } from "./goog4.js";
import { createObjectStore, type ObjectService, rangeHeader, readPart, requestsMax } from "./object-store.js";
import { payloadHash } from "./payload-hash.js";
import { childText, parseXml, type XmlElement } from "./xml.js";

const endpointDefault = "https://storage.googleapis.com";
/** Google signs for any region under this name. */
const regionDefault = "auto";
const tokenHeader = "x-goog-meta-sealdex-create";
export function createGcsStore(
  location: BucketLocation & { readonly credentials: NonNullable<BucketLocation["credentials"]> },
): BlobStore {
  const { bucket, credentials, region = regionDefault, endpoint = endpointDefault } = location;
  const connection = createConnection({ endpoint, key: { ...credentials, region } });

  /** Returns the response if its status or code is expected; throws a ServiceError otherwise. */
  async function send(
    method: string,
    name: string,
    expected: readonly (number | string)[],
    rest: Partial<Request>,
  ): Promise<Answer & { readonly code: string }> {
    const path = name === "" ? `/${bucket}` : `/${bucket}/${name}`;
    const answer = await connection.send({ method, path, query: {}, headers: {}, ...rest });
    const code = answer.status < 400 ? "" : codeOf(answer);
    if (!expected.includes(answer.status) && !expected.includes(code)) {
      throw new ServiceError({ reason: code || "an unexpected answer", status: answer.status });
    }
    return { ...answer, code };
  }

  const service: ObjectService = {
    title: "gcs storage",

    async get(name, range, signal) {
      const { status, code, body } = await send("GET", name, [200, 206, 416, "NoSuchKey"], { range, signal });
      if (code === "NoSuchKey") return null;
      return status === 416 ? new Uint8Array(0) : body;
    },

    async tokenOf(name, signal) {
      const { status, headers } = await send("HEAD", name, [200, 404], { signal });
      if (status === 404) return null;
      const token = headers[tokenHeader];
      return typeof token === "string" ? token : undefined;
    },

    async put(name, bytes, token, signal) {
      const headers = {
        // Google's caches keep publicly readable objects for an hour otherwise.
        "cache-control": "private, no-store",
        "content-type": "application/octet-stream",
        "x-goog-if-generation-match": "0",
        [tokenHeader]: token,
      };
      const { status } = await send("PUT", name, [200, 409, 412], { headers, body: bytes, signal });
      if (status === 200) return "created";
      return status === 412 ? "taken" : "conflict";
    },

    async list(prefix, after, limit, signal) {
      const query = {
        "list-type": "2",
        "max-keys": String(limit),
        ...(prefix !== "" && { prefix }),
        ...(after !== "" && { "start-after": after }),
      };
      const { body } = await send("GET", "", [200], { query, signal });
      const root = tryParse(body);
      if (root?.name !== "ListBucketResult") {
        throw new ServiceError({ reason: "a list that cannot be read", isRefusal: true });
      }
      const entries = root.children.filter(({ name }) => name === "Contents");
      return {
        names: entries.map((entry) => childText(entry, "Key") ?? ""),
        isTruncated: childText(root, "IsTruncated") === "true",
      };
    },

    async remove(name, signal) {
      await send("DELETE", name, [200, 204, "NoSuchKey"], { signal });
    },

    async close() {
      connection.close();
    },
  };
  return createObjectStore(service, location.path);
}

function codeOf({ body }: Answer): string {
  const root = tryParse(body);
  return root?.name === "Error" ? codeFrom(childText(root, "Code") ?? "") : "";
}

function tryParse(body: Uint8Array): XmlElement | undefined {
  try {
    return parseXml(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    // A message must not repeat the text.
    return undefined;
  }
}

// Signed requests to Google Cloud Storage over reused sockets.

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The range of an object. Without it, the response is text. */
  readonly range?: ByteRange;
  readonly body?: Uint8Array;
  readonly signal?: AbortSignal | undefined;
}

interface Connection {
  /**
   * Resolves for any status. Rejects with a ServiceError if the response is missing or incomplete.
   */
  send(request: Request): Promise<Answer>;
  close(): void;
}

/** Limit of lists and errors; a list of 1,000 names is shorter. */
const textBytesMax = 4 * 1024 * 1024;

/** The longest time without data, also while connecting. */
const silenceMsMax = 60_000;

function createConnection({
  endpoint,
  key,
}: {
  readonly endpoint: string;
  readonly key: HmacKey;
}): Connection {
  const { protocol, hostname, host, port } = new URL(endpoint);
  const isSecure = protocol === "https:";
  const sockets = { keepAlive: true, maxSockets: requestsMax, timeout: silenceMsMax };
  const agent = isSecure ? new HttpsAgent(sockets) : new HttpAgent(sockets);

  async function exchange({ method, path, query, headers, range, body, signal }: Request): Promise<Answer> {
    const hash = await payloadHash(body ?? new Uint8Array(0));
    const withHost = { ...headers, ...(range && { range: rangeHeader(range) }), host };
    const unsigned = { method, path, query, headers: withHost, payloadHash: hash };
    const search = canonicalQuery(query);
    const options = {
      method,
      agent,
      signal,
      // URLs put an IPv6 address in brackets; sockets do not.
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port,
      path: search === "" ? path : `${path}?${search}`,
      headers: {
        ...signed(unsigned, key, new Date()),
        ...(body !== undefined && { "content-length": String(body.length) }),
      },
    };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = (isSecure ? requestHttps : requestHttp)(options, resolve);
      outgoing.on("error", reject);
      outgoing.on("timeout", () => outgoing.destroy(new ServiceError({ reason: "no answer in time" })));
      outgoing.end(body);
    });
    const status = answer.statusCode ?? 0;
    const stated = method === "HEAD" ? undefined : answer.headers["content-length"];
    const bytes = await readPart(
      answer,
      status < 400 && range !== undefined ? range : { offset: 0, length: textBytesMax },
      {
        length: stated === undefined ? undefined : Number(stated),
        range: status === 206 ? (answer.headers["content-range"] ?? "none") : undefined,
      },
    );
    return { status, headers: answer.headers, body: bytes };
  }

  return {
    async send(request) {
      try {
        return await exchange(request);
      } catch (error) {
        if (error instanceof ServiceError) throw error;
        // A system error's message may name hosts; its code is enough.
        const reason =
          isError(error) && error.code !== undefined
            ? codeFrom(String(error.code), error)
            : "an unexpected error";
        throw new ServiceError({ reason });
      }
    },
    close: () => agent.destroy(),
  };
}
