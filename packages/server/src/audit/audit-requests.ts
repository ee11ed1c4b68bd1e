/** Records every request that needs an API key: caller, endpoint, index, result. */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { AuditLog } from "./audit-log.js";
import type { Server } from "../http/http-server.js";
import { addressOf } from "../http/request-address.js";
import { whenEnded } from "../http/request-end.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether the audit log omits requests of this route. */
    isUnrecorded?: boolean;
  }
  interface FastifyRequest {
    /** Id of the API key that this request created or revoked. */
    subjectKey?: string;
    /** Name of the wrap that this request added or revoked. */
    subjectWrap?: string;
  }
}

/** Limit of recorded names of indexes and wraps, which may be anything that clients send. */
const nameLengthMax = 128;

/** Refuses requests of `scope` with `storage_unavailable` while the log cannot be written. */
export function auditRequests(scope: Server, log: AuditLog): void {
  scope.addHook("onRequest", async (request, reply) => {
    await log.check();
    whenEnded(reply, () => {
      if (isRecorded(request)) log.add(eventOf(request, reply));
    });
  });
}

/**
 * Requests without a valid API key are recorded only if they tried one, within the limits per
 * address; otherwise anybody could fill the disk.
 */
function isRecorded({ caller, headers, failureCode, routeOptions }: FastifyRequest): boolean {
  if (routeOptions.config.isUnrecorded === true && failureCode === undefined) return false;
  return caller !== undefined || (headers["x-api-key"] !== undefined && failureCode === "unauthenticated");
}

function eventOf(request: FastifyRequest, reply: FastifyReply) {
  const { caller, ip, method, routeOptions, params, subjectKey, subjectWrap, failureCode, id } = request;
  const { id: key } = (params ?? {}) as { readonly id?: string };
  return {
    at: new Date().toISOString(),
    caller: caller?.id,
    address: ip.slice(0, nameLengthMax),
    action: `${method} ${routeOptions.url}`,
    index: addressOf(request).indexName?.slice(0, nameLengthMax),
    key: subjectKey ?? key,
    wrap: subjectWrap?.slice(0, nameLengthMax),
    status: reply.raw.writableFinished ? reply.statusCode : undefined,
    code: failureCode,
    request: id,
  };
}
