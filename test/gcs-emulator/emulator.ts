/**
 * The part of Google Cloud Storage's XML interface that a store of blobs needs, in memory: objects with generations and
 * their condition, ranges, lists in pages, the service's errors. Strict: it answers what it does not know with an error.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type Refusal, verify } from "./signature.js";

interface StoredObject {
  readonly bytes: Buffer;
  readonly generation: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly contentType: string;
}

type Bucket = Map<string, StoredObject>;

export interface GcsEmulatorOptions {
  readonly port?: number;
  readonly keys: ReadonlyMap<string, string>;
  /** What outlives a restart. */
  readonly buckets: Map<string, Bucket>;
  /** Most names that a page of a list has; the service's is 1,000. */
  readonly pageMax?: number;
  /** Ignores the condition of a write, as the service itself does with the other dialect's. */
  readonly isCareless?: boolean;
  /** PEM; with it, connections are encrypted. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

export interface GcsEmulator {
  readonly endpoint: string;
  readonly port: number;
  /** How many connections were opened to it. */
  connections(): number;
  /** Requests answered, as "PUT 200". */
  readonly answered: string[];
  /** Cuts every connection and stops. */
  stop(): Promise<void>;
}

const queryNames = new Set(["list-type", "prefix", "start-after", "max-keys", "continuation-token"]);

export async function startGcsEmulator({
  port = 0,
  keys,
  buckets,
  pageMax = 1000,
  isCareless = false,
  tls,
}: GcsEmulatorOptions): Promise<GcsEmulator> {
  let generations = 0;
  let connections = 0;
  const answered: string[] = [];

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const refused = verify(request, body, keys) ?? route(request, response, body);
    if (refused !== null) sendError(request, response, refused);
    answered.push(`${request.method} ${response.statusCode}`);
  }

  function route(request: IncomingMessage, response: ServerResponse, body: Buffer): Refusal | null {
    const url = new URL(request.url ?? "", "http://emulator");
    const [, bucketName, ...rest] = url.pathname.split("/").map(decodeURIComponent);
    const bucket = buckets.get(bucketName);
    if (bucket === undefined) return error(404, "NoSuchBucket", "The specified bucket does not exist.");
    const name = rest.join("/");
    if (name === "") return request.method === "GET" ? list(url, bucket, bucketName, response) : badMethod;
    if (url.search !== "") return error(400, "InvalidArgument", "Invalid argument.");
    if (Buffer.byteLength(name) > 1024) return error(400, "KeyTooLongError", "The name is too long.");
    switch (request.method) {
      case "PUT":
        return put(request, bucket, name, body, response);
      case "GET":
      case "HEAD":
        return get(request, bucket, name, response);
      case "DELETE":
        if (!bucket.delete(name)) return error(404, "NoSuchKey", "The specified key does not exist.");
        response.writeHead(204).end();
        return null;
      default:
        return badMethod;
    }
  }

  /** Between the condition and the write nothing else runs: that is what makes it atomic. */
  function put(
    { headers }: IncomingMessage,
    bucket: Bucket,
    name: string,
    bytes: Buffer,
    response: ServerResponse,
  ): Refusal | null {
    const length = headers["content-length"];
    if (length === undefined)
      return error(411, "MissingContentLength", "You must provide the Content-Length header.");
    const condition = headers["x-goog-if-generation-match"];
    if (condition !== undefined && !isCareless) {
      if (!/^\d+$/.test(String(condition))) return error(400, "InvalidArgument", "Invalid argument.");
      if ((bucket.get(name)?.generation ?? 0) !== Number(condition)) {
        return error(
          412,
          "PreconditionFailed",
          "At least one of the pre-conditions you specified did not hold.",
          {
            Details: "If-Generation-Match",
          },
        );
      }
    }
    // Conditions of the other dialect are for reading here, and ignored on writes, as the service does.
    const generation = ++generations;
    const metadata = Object.fromEntries(
      Object.entries(headers).filter(([field]) => field.startsWith("x-goog-meta-")),
    ) as Record<string, string>;
    const contentType = headers["content-type"] ?? "application/octet-stream";
    bucket.set(name, { bytes, generation, metadata, contentType });
    response.writeHead(200, { "x-goog-generation": String(generation), "content-length": "0" }).end();
    return null;
  }

  function get(
    { method, headers }: IncomingMessage,
    bucket: Bucket,
    name: string,
    response: ServerResponse,
  ): Refusal | null {
    const object = bucket.get(name);
    if (object === undefined) return error(404, "NoSuchKey", "The specified key does not exist.");
    const { bytes, generation, metadata, contentType } = object;
    const common = { ...metadata, "x-goog-generation": String(generation), "content-type": contentType };
    const asked = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "");
    if (asked === null) {
      response.writeHead(200, { ...common, "content-length": String(bytes.length) });
      response.end(method === "HEAD" ? undefined : bytes);
      return null;
    }
    const first = Number(asked[1]);
    const last = Math.min(asked[2] === "" ? Infinity : Number(asked[2]), bytes.length - 1);
    if (first >= bytes.length || last < first) {
      return error(416, "InvalidRange", "The requested range cannot be satisfied.", {
        Details: headers.range ?? "",
      });
    }
    const part = bytes.subarray(first, last + 1);
    response.writeHead(206, {
      ...common,
      "content-length": String(part.length),
      "content-range": `bytes ${first}-${last}/${bytes.length}`,
    });
    response.end(method === "HEAD" ? undefined : part);
    return null;
  }

  function list(url: URL, bucket: Bucket, bucketName: string, response: ServerResponse): Refusal | null {
    const query = url.searchParams;
    const isKnown = [...query.keys()].every((name) => queryNames.has(name));
    const count = Number(query.get("max-keys") ?? pageMax);
    if (!isKnown || query.get("list-type") !== "2" || !Number.isInteger(count) || count < 0) {
      return error(400, "InvalidArgument", "Invalid argument.");
    }
    const prefix = query.get("prefix") ?? "";
    const token = query.get("continuation-token");
    const after =
      token === null ? (query.get("start-after") ?? "") : Buffer.from(token, "base64url").toString();
    const order = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
    const names = [...bucket.keys()]
      .filter((name) => name.startsWith(prefix) && order(name, after) > 0)
      .sort(order);
    const page = names.slice(0, Math.min(count, pageMax));
    const isTruncated = page.length > 0 && page.length < names.length;
    const contents = page.map((name) => {
      const { bytes, generation } = bucket.get(name) as StoredObject;
      return element("Contents", {
        Key: name,
        Generation: String(generation),
        MetaGeneration: "1",
        ETag: '"0"',
        Size: String(bytes.length),
      });
    });
    const xml = [
      "<?xml version='1.0' encoding='UTF-8'?><ListBucketResult xmlns='http://doc.s3.amazonaws.com/2006-03-01'>",
      ...Object.entries({
        Name: bucketName,
        Prefix: prefix,
        KeyCount: String(page.length),
        IsTruncated: String(isTruncated),
        ...(isTruncated && {
          NextContinuationToken: Buffer.from(page[page.length - 1]).toString("base64url"),
        }),
      }).map(([field, value]) => `<${field}>${escape(value)}</${field}>`),
      ...contents,
      "</ListBucketResult>",
    ].join("");
    response.writeHead(200, { "content-type": "application/xml; charset=UTF-8" }).end(xml);
    return null;
  }

  const listener = (request: IncomingMessage, response: ServerResponse) => {
    // A client that goes away in the middle of a request is nothing to us.
    handle(request, response).catch(() => response.destroy());
  };
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const address = server.address() as AddressInfo;
  return {
    endpoint: `http${tls === undefined ? "" : "s"}://127.0.0.1:${address.port}`,
    port: address.port,
    connections: () => connections,
    answered,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const badMethod = error(
  405,
  "MethodNotAllowed",
  "The specified method is not allowed against this resource.",
);

function error(status: number, code: string, message: string, details: Record<string, string> = {}): Refusal {
  return { status, code, message, details };
}

function sendError({ method }: IncomingMessage, response: ServerResponse, refused: Refusal): void {
  const { status, code, message, details } = refused;
  const xml = `<?xml version='1.0' encoding='UTF-8'?>${element("Error", { Code: code, Message: message, ...details })}`;
  response.writeHead(status, { "content-type": "application/xml; charset=UTF-8" });
  response.end(method === "HEAD" ? undefined : xml);
}

function element(name: string, fields: Record<string, string>): string {
  const inner = Object.entries(fields).map(([field, value]) => `<${field}>${escape(value)}</${field}>`);
  return `<${name}>${inner.join("")}</${name}>`;
}

function escape(text: string): string {
  const references: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replace(/[&<>"']/g, (character) => references[character]);
}
