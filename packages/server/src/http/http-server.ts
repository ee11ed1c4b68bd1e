/** The HTTP server of the service: time-outs, parser errors, log, request ids. */

import { randomUUID } from "node:crypto";
import {
  type IncomingMessage,
  maxHeaderSize,
  type Server as NodeServer,
  type ServerResponse,
} from "node:http";
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
import { replyToBadUrl, replyToParserError, replyWithError, replyWithNoRoute } from "./error-reply.js";
import type { Limits } from "./limits.js";
import { BodySchemas } from "../body/body-schema.js";
import { readBody } from "../body/read-body.js";
import { shapeError } from "../body/shape-error.js";

/** Receives the log, one line of JSON per request: method, route, status and time. */
export interface Log {
  write(line: string): void;
}

/** Longest body of requests without vectors, filters or ids. */
const smallBodyBytesMax = 64 * 1024;
/** Longest interval between two checks for stalled clients. */
const stalledCheckMs = 1000;

declare module "fastify" {
  interface FastifyRequest {
    /** Error code of a failed request. */
    failureCode?: string;
  }
}

export interface ServerOptions {
  readonly limits: Limits;
  readonly log: Log | undefined;
  /** Proxies whose `X-Forwarded-For` names the client. */
  readonly trustProxy: string[] | undefined;
  /** Undefined: HTTP without TLS. */
  readonly certificates: Certificates | undefined;
}

export function newServer({ limits, log, trustProxy = [], certificates }: ServerOptions): Server {
  const { headersMsMax, requestMsMax, stalledMsMax } = limits;
  const timeouts = {
    headersTimeout: headersMsMax,
    connectionsCheckingInterval: Math.min(stalledCheckMs, requestMsMax),
  };
  const tls = certificates && { ...timeouts, handshakeTimeout: headersMsMax, ...certificates };
  const options: FastifyHttpOptions<NodeServer> = {
    bodyLimit: smallBodyBytesMax,
    // Names are checked where they are used. Node limits the length of all headers to this.
    routerOptions: { maxParamLength: maxHeaderSize },
    trustProxy: trustProxy.length > 0 ? trustProxy : false,
    requestTimeout: requestMsMax,
    http: timeouts,
    // Only the types distinguish HTTP from HTTPS.
    ...(tls && ({ https: tls } as object)),
    schemaErrorFormatter: shapeError,
    // Requests on open connections are still served while the service stops.
    return503OnClosing: false,
    frameworkErrors: replyToBadUrl,
    clientErrorHandler: replyToParserError,
    genReqId: ({ headers }) => requestId(headers["x-request-id"]),
    // Fastify's log lines contain URLs and headers; a hook below writes ours.
    logController: new LogController({ disableRequestLogging: true }),
    ...(log !== undefined && { logger: { level: "info", stream: log } }),
  };
  const server = fastifyServer(options);
  // Node would respond itself to unknown expectations.
  server.server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    server.server.emit("request", request, response);
  });
  // Hooks that wait for nothing call back: a promise of each would take longer than their work.
  server.addHook("onRequest", (request, reply, done) => {
    reply.headers({ "X-Request-Id": request.id, "X-Content-Type-Options": "nosniff" });
    // Not onResponse, which is not called if the client disconnected.
    reply.raw.once("close", () => logRequest(request, reply));
    done();
  });
  server.addHook("onError", async (request, _reply, error) => {
    request.failureCode = error instanceof SealdexError ? error.code : "invalid_request";
    const status = error.statusCode ?? 500;
    if (!(error instanceof SealdexError) && status >= 500) request.failureCode = "internal";
  });
  server.addHook("onSend", (_request, reply, _payload, done) => {
    // Closes the connection, unless the client keeps reading.
    reply.raw.setTimeout(stalledMsMax);
    done();
  });
  checkBodies(server, limits);
  server.setErrorHandler<SealdexError>(replyWithError);
  server.setNotFoundHandler(replyWithNoRoute);
  return server;
}

function fastifyServer(options: FastifyHttpOptions<NodeServer>) {
  return fastify(options).withTypeProvider<TypeBoxTypeProvider>();
}

/** Reads bodies by the schemas of their routes. */
function checkBodies(server: Server, { itemsMax }: Limits): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("application/json", readBody);
  const bodies = new BodySchemas(itemsMax);
  server.setValidatorCompiler(({ schema }) => bodies.compileRest(schema));
  server.addHook("onRoute", (route) => {
    route.config = { ...route.config, streams: bodies.streams(route.schema?.body) };
  });
  // Responses have the right shape by construction. A serializer from their schemas gives the same
  // text in 2 to 8 times the time.
  server.setSerializerCompiler(() => (body) => JSON.stringify(body));
}

/**
 * Uses the caller's id if it is fit for logs, so that requests can be found in the logs of a proxy.
 */
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

export type Server = ReturnType<typeof fastifyServer>;
