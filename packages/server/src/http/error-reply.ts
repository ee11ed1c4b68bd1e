/** Turns every error into a response: status, code in `X-Error-Code`, detail. */

import type { Socket } from "node:net";
import { STATUS_CODES } from "node:http";
import type { ConnectionError, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type ErrorCode, SealdexError } from "sealdex/core";
import { encodeError, encodePlainError, invalid, mediaType, statusOfCode } from "sealdex/wire";

/**
 * Seconds for `Retry-After`. Models load in seconds from disk, and in minutes from the network.
 * Rate limits set their own.
 */
const retryAfterSeconds = new Map<ErrorCode, number>([
  ["model_loading", 2],
  ["overloaded", 1],
  ["storage_unavailable", 1],
]);

type Thrown = FastifyError | SealdexError;

/**
 * Details of server errors. The library's messages name stored objects and system codes, which
 * belong in the log.
 */
const serverFaults = new Map<ErrorCode, string>([
  ["corrupt", "stored data was modified or is damaged"],
  ["missing_object", "stored data is missing"],
  ["rollback_detected", "stored data was rolled back to an older state"],
  ["storage_unavailable", "the storage did not respond"],
  ["model_unavailable", "the embedding model could not be loaded"],
]);

export function replyWithError(thrown: Thrown, request: FastifyRequest, reply: FastifyReply) {
  const [error, status] = translate(thrown);
  // If the client has disconnected, the log line of the request says so.
  const isGone = request.raw.socket.destroyed || reply.raw.destroyed;
  if (status >= 500 && error.code !== "overloaded" && !isGone) {
    request.log.error({ fault: faultOf(thrown) }, "request failed");
  }
  const seconds = retryAfterSeconds.get(error.code);
  if (seconds !== undefined) reply.header("Retry-After", String(seconds));
  reply.header("X-Error-Code", error.code);
  return reply.code(status).send(bodyFor(request)(error, status));
}

function bodyFor({ headers }: FastifyRequest) {
  return headers.accept?.includes(mediaType) === true ? encodeError : encodePlainError;
}

/**
 * The methods of a route without parameters. Fastify would take a path with a `:` for a pattern,
 * which may be invalid.
 */
function methodsOf(path: string, server: FastifyInstance): string[] {
  if (path.includes(":")) return [];
  return ["GET", "POST", "DELETE"].filter((method) => server.hasRoute({ method, url: path }));
}

export function replyWithNoRoute(request: FastifyRequest, reply: FastifyReply) {
  const [path] = request.url.split("?");
  const allowed = methodsOf(path, request.server);
  if (allowed.length > 0) {
    const error = invalid(`${path}: expected ${allowed.join(" or ")}, got ${request.method}`);
    reply.headers({ Allow: allowed.join(", "), "X-Error-Code": error.code });
    return reply.code(405).send(bodyFor(request)(error, 405));
  }
  const error = new SealdexError("not_found", `no such endpoint: ${request.method} ${path} (see /docs)`);
  return replyWithError(error, request, reply);
}

/** For paths of files: any problem with the path means that there is no such file. */
export function replyWithNoFile(thrown: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const isOfClient = thrown.statusCode !== undefined && thrown.statusCode < 500;
  return isOfClient ? replyWithNoRoute(request, reply) : replyWithError(thrown, request, reply);
}

/** For URLs that cannot be decoded, for which no hook runs. */
export function replyToBadUrl(_error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  reply.header("X-Request-Id", request.id);
  const error = new SealdexError("not_found", "the path is not percent-encoded UTF-8");
  void replyWithError(error, request, reply);
}

/**
 * For bytes that are not HTTP, and clients that are too slow: there is a connection but no request.
 */
export function replyToParserError(error: ConnectionError, socket: Socket): void {
  if (error.code !== "ECONNRESET" && socket.writable) {
    const [status, detail] = parserFault(error.code);
    const refusal = invalid(detail);
    const body = JSON.stringify(encodePlainError(refusal, status));
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\n` +
        `X-Error-Code: ${refusal.code}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  }
  socket.destroy();
}

function parserFault(code: string): [number, string] {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "request: it was not received in time"];
    case "HPE_HEADER_OVERFLOW":
      return [431, "request: expected shorter headers"];
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return [413, "request: expected shorter chunk extensions"];
    default:
      return [400, "request: expected HTTP/1.1"];
  }
}

/** Only the framework's own errors may set a status and show their message. */
function translate(thrown: Thrown): [SealdexError, number] {
  if (thrown instanceof SealdexError) {
    const status = statusOfCode(thrown.code);
    const isForClient = status < 500 || thrown.code === "model_loading" || thrown.code === "overloaded";
    return [isForClient ? thrown : fault(thrown.code), status];
  }
  const { code, statusCode = 500, message } = thrown;
  if (typeof code !== "string" || !code.startsWith("FST_") || statusCode >= 500) {
    return [fault("internal"), 500];
  }
  if (statusCode === 415) {
    const detail = "Content-Type, Content-Encoding: expected application/json, as it is or as gzip";
    return [invalid(detail), 415];
  }
  return [invalid(message), statusCode];
}

function fault(code: ErrorCode): SealdexError {
  return new SealdexError(code, `${serverFaults.get(code) ?? "the service failed"}; see its log`);
}

/**
 * The loggable part of an error: messages of foreign errors may quote values, so they are dropped.
 */
function faultOf(error: Thrown): object {
  const { name, code, message, stack = "", cause } = error;
  const own = error instanceof SealdexError;
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return {
    name,
    code,
    ...(own && { message }),
    frames,
    ...(typeof cause === "object" && cause !== null && { cause: faultOf(cause as FastifyError) }),
  };
}
