/** Detects the end of a request: its response, a disconnected client, a time limit. */

import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { SealdexError } from "sealdex/core";

const atEnd = new WeakMap<ServerResponse, (() => void)[]>();

/** Calls `work` once the response was sent or the connection is closed, immediately if it is. */
export function whenEnded({ raw }: FastifyReply, work: () => void): void {
  if (raw.destroyed) return work();
  const known = atEnd.get(raw);
  if (known !== undefined) {
    known.push(work);
    return;
  }
  const works = [work];
  atEnd.set(raw, works);
  raw.once("close", () => {
    for (const each of works) each();
  });
}

/** Aborts when the connection closes before the response was sent. */
export function untilDisconnected(reply: FastifyReply): AbortSignal {
  return untilGivenUp(reply).signal;
}

/**
 * Like `untilDisconnected`, and after `msMax` milliseconds with `too_large`, unless the response is
 * sent by then.
 */
export function untilTooLong(reply: FastifyReply, msMax: number): AbortSignal {
  return untilLate(reply, msMax, () => {
    const detail = `request: it was not done within ${msMax} ms; ask for less at a time`;
    return new SealdexError("too_large", detail);
  });
}

/** Like `untilDisconnected`, and after `msMax` milliseconds in a queue with `overloaded`. */
export function untilTooLate(reply: FastifyReply, msMax: number): AbortSignal {
  return untilLate(reply, msMax, () => {
    return new SealdexError("overloaded", `the service is busy: the request waited ${msMax} ms`);
  });
}

/**
 * Like `untilDisconnected`, and after `msMax` milliseconds with the result of `fault`, unless the
 * response is sent by then.
 */
function untilLate(reply: FastifyReply, msMax: number, fault: () => SealdexError): AbortSignal {
  const controller = untilGivenUp(reply);
  const timer = setTimeout(() => controller.abort(fault()), msMax);
  whenEnded(reply, () => clearTimeout(timer));
  return controller.signal;
}

function untilGivenUp(reply: FastifyReply): AbortController {
  const controller = new AbortController();
  whenEnded(reply, () => {
    if (reply.raw.writableFinished) return;
    controller.abort(new SealdexError("invalid_request", "the client closed the connection"));
  });
  return controller;
}
