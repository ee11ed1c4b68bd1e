/** Signed requests to Google Cloud Storage over reused sockets. */

import {
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { canonicalQuery, type HmacKey, signed } from "./goog4.js";
import type { ByteRange } from "./blob-store.js";
import { rangeHeader, readPart } from "./object-body.js";
import { requestsMax } from "./object-store.js";
import { payloadHash } from "./payload-hash.js";
import { codeFrom, ServiceError } from "./service-error.js";
import { isError } from "../value-kinds.js";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The range of an object. Without it, the response is text. */
  readonly range?: ByteRange;
  readonly body?: Uint8Array;
  readonly signal?: AbortSignal | undefined;
}

export interface Connection {
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

export function createConnection({
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
        const code =
          isError(error) && error.code !== undefined ? codeFrom(String(error.code)) : "an unexpected error";
        throw new ServiceError({ reason: code });
      }
    },
    close: () => agent.destroy(),
  };
}
