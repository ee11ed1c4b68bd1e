/** The HTTP server that the service's routes are added to: time-outs, parser errors, log, request ids. */

import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server as NodeServer, ServerResponse } from "node:http";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import {
  fastify,
  type FastifyHttpOptions,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import { SealdexError } from "sealdex/core";
import type { Certificates } from "./certificates.js";
import { replyToBadUrl, replyToParserError } from "./error-reply.js";
import type { Limits } from "./limits.js";
import { shapeError } from "./shape-error.js";

/** Takes the log, one line of JSON per request: its method, route, status and time. */
export interface Log {
  write(line: string): void;
}

/** The longest body of requests that have no vectors, filters or ids. */
const smallBodyBytesMax = 64 * 1024;
/** How often the server looks for clients that take too long to send, at least. */
const stalledCheckMs = 1000;

declare module "fastify" {
  interface FastifyRequest {
    /** Why the request failed, as the codes of `SealdexError` have it. */
    failureCode?: string;
  }
}

export interface ServerOptions {
  readonly limits: Limits;
  readonly log: Log | undefined;
  /** Addresses of the proxies whose `X-Forwarded-For` names the client. */
  readonly trustProxy: string[] | undefined;
  /** Undefined: HTTP without TLS. */
  readonly certificates: Certificates | undefined;
}

export function newServer({ limits, log, trustProxy = [], certificates }: ServerOptions) {
  const { headersMsMax, requestMsMax, stalledMsMax } = limits;
  const timeouts = {
    headersTimeout: headersMsMax,
    connectionsCheckingInterval: Math.min(stalledCheckMs, requestMsMax),
  };
  const tls = certificates && { ...timeouts, handshakeTimeout: headersMsMax, ...certificates };
  const options: FastifyHttpOptions<NodeServer> = {
    bodyLimit: smallBodyBytesMax,
    trustProxy: trustProxy.length > 0 ? trustProxy : false,
    requestTimeout: requestMsMax,
    http: timeouts,
    // The types tell HTTP and HTTPS apart; nothing here does.
    ...(tls && ({ https: tls } as object)),
    schemaErrorFormatter: shapeError,
    // What arrives on open connections while the service stops is still served.
    return503OnClosing: false,
    frameworkErrors: replyToBadUrl,
    clientErrorHandler: replyToParserError,
    genReqId: ({ headers }) => requestId(headers["x-request-id"]),
    // Fastify's own lines would hold URLs and headers; ours is written by a hook below.
    logController: new LogController({ disableRequestLogging: true }),
    ...(log !== undefined && { logger: { level: "info", stream: log } }),
  };
  const server = fastify(options).withTypeProvider<TypeBoxTypeProvider>();
  // Node would answer those that it does not know by itself.
  server.server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    server.server.emit("request", request, response);
  });
  server.addHook("onRequest", async (request, reply) => {
    reply.headers({ "X-Request-Id": request.id, "X-Content-Type-Options": "nosniff" });
  });
  server.addHook("onError", async (request, _reply, error) => {
    request.failureCode = error instanceof SealdexError ? error.code : "invalid_request";
    const status = error.statusCode ?? 500;
    if (!(error instanceof SealdexError) && status >= 500) request.failureCode = "internal";
  });
  server.addHook("onSend", async (_request, reply) => {
    // Closes the connection, unless the client keeps reading.
    reply.raw.setTimeout(stalledMsMax);
  });
  server.addHook("onRequest", async (request, reply) => {
    // Not onResponse, which is not called for a client that left before it was answered.
    reply.raw.once("close", () => logRequest(request, reply));
  });
  return server;
}

/** The caller's own id, if it has one that is fit for logs: so that requests are found in the logs of a proxy, too. */
function requestId(given: unknown): string {
  return typeof given === "string" && /^[\w-]{8,64}$/.test(given) ? given : randomUUID();
}

function logRequest({ method, routeOptions, failureCode, log }: FastifyRequest, reply: FastifyReply): void {
  const aborted = !reply.raw.writableFinished;
  const fields = {
    method,
    route: routeOptions.url,
    ms: Math.round(reply.elapsedTime),
    ...(failureCode !== undefined && { code: failureCode }),
  };
  log.info({ ...fields, ...(aborted ? { aborted } : { status: reply.statusCode }) }, "request");
}

/** What routes are added to. */
export type Server = ReturnType<typeof newServer>;
