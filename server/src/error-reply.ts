/** Whatever goes wrong, as an answer of one shape: status, code, detail. */

import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { SealdexError } from "sealdex/core";
import { bodyBytesMax, encodeError, statusOfCode } from "sealdex/wire";

type Thrown = FastifyError | SealdexError;

export function replyWithError(thrown: Thrown, request: FastifyRequest, reply: FastifyReply) {
  const [error, status] = translate(thrown);
  if (status >= 500) request.log.error({ fault: faultOf(thrown) }, "request failed");
  return reply.code(status).send(encodeError(error, status));
}

export function replyWithNoRoute(request: FastifyRequest, reply: FastifyReply) {
  const [path] = request.url.split("?");
  const error = new SealdexError("not_found", `there is nothing at ${request.method} ${path}`);
  return replyWithError(error, request, reply);
}

/** What to answer. Only the framework's own errors may choose a status and show their message. */
function translate(thrown: Thrown): [SealdexError, number] {
  if (thrown instanceof SealdexError) return [thrown, statusOfCode(thrown.code)];
  const { code, statusCode = 500, message } = thrown;
  if (typeof code !== "string" || !code.startsWith("FST_") || statusCode >= 500) {
    return [new SealdexError("internal", "the service failed; its log says more"), 500];
  }
  if (statusCode === 413) return [invalid(`body: expected at most ${bodyBytesMax} bytes`), 413];
  if (statusCode === 415) return [invalid("Content-Type: expected application/json"), 415];
  return [invalid(message), statusCode];
}

/** What the log may know of an error: messages of foreign errors may quote values, so they are left out. */
function faultOf(error: Thrown): object {
  const { name, code, message, stack = "", cause } = error;
  const own = error instanceof SealdexError;
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return {
    name,
    code,
    ...(own && { message }),
    frames,
    ...(cause instanceof Error && { cause: faultOf(cause as FastifyError) }),
  };
}

function invalid(message: string): SealdexError {
  return new SealdexError("invalid_request", message);
}
