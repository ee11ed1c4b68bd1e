/** Which requests of a client are served: those with a valid API key, within its scopes, indexes and rates. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { SealdexError } from "sealdex/core";
import { onBehalfOf } from "sealdex/wire";
import type { Server } from "../http/http-server.js";
import { type Caller, checkIndex, checkScope, type Scope } from "./caller.js";
import type { FixedKeys } from "./fixed-keys.js";
import type { IssuedKeys } from "./issued-keys.js";
import { routeAccess } from "./route-access.js";
import type { Limits } from "../http/limits.js";
import type { OpenIndexes } from "../indexes/open-indexes.js";
import type { Siblings } from "../processes/siblings.js";
import { RateLimit } from "./rate-limit.js";
import { addressOf, networkOf, ownerOf } from "../http/request-address.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The scopes of which a caller needs one. */
    access?: readonly Scope[];
    /** Whether requests without an API key are served, too. */
    isKeyOptional?: boolean;
    /** Whether the API key may be sent as `Authorization: Bearer`. */
    acceptsBearer?: boolean;
  }
  interface FastifyRequest {
    /** Undefined for endpoints that need no API key. */
    caller?: Caller;
  }
}

export interface Authentication {
  readonly fixed: FixedKeys;
  readonly issued: IssuedKeys | undefined;
}

/** Counts every request of an address, whatever its path. */
export function limitAddresses(app: Server, limits: Limits, siblings: Siblings): void {
  const ofAddress = new RateLimit("address", limits.addressRequestsPerMinuteMax, siblings);
  app.addHook("onRequest", async ({ ip }, reply) => {
    await ofAddress.take(networkOf(ip), reply, "requests of this address");
  });
}

/** Checks the requests of `scope` before their bodies are read, and the index that a request names before it is used. */
export function requireApiKeys(
  scope: Server,
  keys: Authentication,
  limits: Limits,
  siblings: Siblings,
): void {
  const ofKey = new RateLimit("API key", limits.keyRequestsPerMinuteMax, siblings);
  const failures = new RateLimit("invalid API keys", limits.failedKeysPerMinuteMax, siblings);
  const identify = callerCheck(keys, failures);
  scope.addHook("onRoute", (route) => {
    const [method] = [route.method].flat();
    route.config = { ...route.config, access: routeAccess(method, route.url) };
  });
  scope.addHook("onRequest", async (request, reply) => {
    const { access = ["admin"], isKeyOptional } = request.routeOptions.config;
    if (isKeyOptional === true && request.headers["x-api-key"] === undefined) return;
    const caller = await identify(request, reply);
    request.caller = caller;
    await ofKey.take(caller.id, reply, "requests with this API key");
    checkScope(caller, access);
  });
  // Not async: what follows has to be called in here.
  scope.addHook("onRequest", (request, _reply, done) => onBehalfOf(ownerOf(request), done));
  scope.addHook("preHandler", async (request) => {
    const { caller } = request;
    const { indexName } = addressOf(request);
    if (caller !== undefined && indexName !== undefined) checkIndex(caller, indexName);
  });
}

/**
 * An address that sends many invalid keys is refused with 429, and the storage is not asked for keys that it tries. Keys that
 * are known to be valid keep working for others behind the same address.
 */
function callerCheck({ fixed, issued }: Authentication, failures: RateLimit) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<Caller> => {
    const apiKey = apiKeyOf(request);
    const checkMayRead = () =>
      failures.check(networkOf(request.ip), reply, "invalid API keys from this address");
    if (typeof apiKey === "string") {
      const caller = fixed.callerOf(apiKey) ?? (await issued?.callerOf(apiKey, checkMayRead));
      if (caller !== undefined) return caller;
    }
    // A client that sends no key tries none.
    if (apiKey !== undefined) {
      if (await failures.count(networkOf(request.ip))) {
        request.log.warn({ address: request.ip }, "alarm: many invalid API keys from one address");
      }
      await checkMayRead();
    }
    throw new SealdexError("unauthenticated", "X-API-Key: expected a valid API key");
  };
}

function apiKeyOf({ headers, routeOptions }: FastifyRequest): string | string[] | undefined {
  const [, bearer] = /^Bearer (\S+)$/i.exec(headers.authorization ?? "") ?? [];
  return headers["x-api-key"] ?? (routeOptions.config.acceptsBearer === true ? bearer : undefined);
}

/**
 * A client that tries many wrong keys on one index is refused with 429 and causes an alarm in the log. An index that is open
 * under the key of a request was opened with the right one, so its other users keep working.
 */
export function limitWrongIndexKeys(
  scope: Server,
  indexes: OpenIndexes,
  limits: Limits,
  siblings: Siblings,
): void {
  const attempts = new RateLimit("wrong index keys", limits.wrongIndexKeysPerMinuteMax, siblings);
  const clientOf = ({ caller, ip }: FastifyRequest, indexName: string) =>
    `${caller?.id} ${networkOf(ip)} ${indexName}`;
  scope.addHook("preHandler", async (request, reply) => {
    const { indexName, indexKey } = addressOf(request);
    if (indexName === undefined || indexKey === undefined) return;
    const client = clientOf(request, indexName);
    if (!(await attempts.isExceeded(client)) || indexes.isOpen({ indexName, indexKey })) return;
    await attempts.check(client, reply, "wrong keys for this index");
  });
  scope.addHook("onError", async (request, _reply, error) => {
    const { indexName } = addressOf(request);
    if (!(error instanceof SealdexError && error.code === "wrong_index_key") || indexName === undefined)
      return;
    if (await attempts.count(clientOf(request, indexName))) {
      const fields = { caller: request.caller?.id, address: request.ip, index: indexName };
      request.log.warn(fields, "alarm: many wrong keys for one index");
    }
  });
}
