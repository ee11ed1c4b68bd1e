/** Requests whose client has gone: what they asked for is no longer worth doing. */

import type { FastifyReply } from "fastify";
import { SealdexError } from "sealdex/core";

/** Aborts when the connection closes before the answer was sent. */
export function untilDisconnected(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (reply.raw.writableFinished) return;
    controller.abort(new SealdexError("invalid_request", "the client closed the connection"));
  });
  return controller.signal;
}
