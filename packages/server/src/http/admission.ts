/** Limits concurrent requests by their bodies; others wait unread, so that all fit into memory. */

import underPressure from "@fastify/under-pressure";
import type { FastifyReply, FastifyRequest } from "fastify";
import { SealdexError } from "sealdex/core";
import { checkDeclaredBody, isGzip } from "../body/read-body.js";
import { Semaphore } from "./semaphore.js";
import type { Server } from "./http-server.js";
import type { Limits } from "./limits.js";
import { ownerOf } from "./request-address.js";
import { untilDisconnected, untilTooLate, whenEnded } from "./request-end.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether a request of this route may take minutes. */
    isLong?: boolean;
    /** Whether requests of this route are parts of others, which wait for them, perhaps in this process. */
    isPart?: boolean;
  }
}

/** Bodies up to this length need not wait. */
const smallBytes = 64 * 1024;

/**
 * Delays the requests of `scope` before their bodies are read. Refuses bodies with too great a
 * declared length.
 */
export function limitRequests(scope: Server, limits: Limits): void {
  const { bodiesBytesMax, requestsMax, longRequestsMax, waitingMax, waitMsMax } = limits;
  const places = () => ({
    bodies: new Semaphore(bodiesBytesMax, waitingMax),
    short: new Semaphore(requestsMax, waitingMax),
  });
  const [ofClients, ofRouters] = [places(), places()];
  const long = new Semaphore(longRequestsMax, waitingMax);
  noteWork(scope);
  scope.addHook("preParsing", async (request, reply, payload) => {
    checkDeclaredBody(request);
    const length = longestBody(request);
    const { isLong, isPart } = request.routeOptions.config;
    const { bodies, short } = isPart === true ? ofRouters : ofClients;
    // Clients time out and retry; an early refusal tells them when.
    const until = once(() => untilTooLate(reply, waitMsMax));
    // A long one first: it would keep its bytes from others for as long as it waits.
    if (isLong === true) await enter(long, 1, reply, () => untilDisconnected(reply));
    // Bytes first: a request that waits for them must not count as running.
    if (length > smallBytes) await enter(bodies, length, reply, until);
    if (isLong !== true) await enter(short, 1, reply, until);
    return payload;
  });
}

/** The work of requests. Most of it does not end when the client leaves: a training, a write. */
const works = new WeakMap<FastifyRequest, Promise<unknown>>();

function noteWork(scope: Server): void {
  scope.addHook("onRoute", (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      const work = handler.call(this, request, reply);
      works.set(request, Promise.resolve(work));
      return work;
    };
  });
}

/**
 * Acquires a share, and releases it when the request and its work have ended. `until` creates the signal that ends
 * the wait; lazily, since waiting is rare.
 */
async function enter(
  semaphore: Semaphore,
  weight: number,
  reply: FastifyReply,
  until: () => AbortSignal,
): Promise<void> {
  const owner = ownerOf(reply.request);
  const leave = semaphore.tryAcquire(owner, weight) ?? (await semaphore.acquire(owner, weight, until()));
  whenEnded(reply, () => {
    const work = works.get(reply.request);
    if (work === undefined) leave();
    else work.then(leave, leave);
  });
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

function longestBody({ headers, routeOptions: { bodyLimit } }: FastifyRequest): number {
  if (headers["transfer-encoding"] !== undefined || isGzip(headers)) return bodyLimit;
  return Number(headers["content-length"] ?? 0);
}

/**
 * Refuses requests of `scope` with `overloaded` while the event loop is late or the heap is nearly
 * full.
 */
export async function refuseUnderPressure(scope: Server, limits: Limits): Promise<void> {
  await scope.register(underPressure, {
    maxEventLoopDelay: limits.eventLoopDelayMsMax,
    maxHeapUsedBytes: limits.heapBytesMax,
    pressureHandler: async (_request, _reply, _type, value = 0) => {
      // No measurement yet, in the first second of a process.
      if (value === Infinity) return;
      throw new SealdexError("overloaded", "the service is overloaded; try again later");
    },
  });
}
