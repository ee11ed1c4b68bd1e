/** Admits requests with a valid API key, within its scopes, indexes and rates. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { type BlobStore, SealdexError } from "sealdex/core";
import { onBehalfOf } from "sealdex/wire";
import type { Server } from "../http/http-server.js";
import { type Caller, checkIndex, checkScope, type Scope } from "./caller.js";
import { FixedKeys } from "./fixed-keys.js";
import { IssuedKeys } from "./issued-keys.js";
import { KeyStore } from "./key-store.js";
import { routeAccess } from "./route-access.js";
import type { Limits } from "../http/limits.js";
import type { OpenIndexes } from "../indexes/open-indexes.js";
import type { Siblings } from "../processes/siblings.js";
import { RateLimit } from "./rate-limit.js";
import { addressOf, networkOf, ownerOf } from "../http/request-address.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Scopes of which a caller needs one. */
    access?: readonly Scope[];
    /** Whether the API key is optional. */
    isKeyOptional?: boolean;
    /** Whether the API key may be sent as `Authorization: Bearer`. */
    acceptsBearer?: boolean;
  }
  interface FastifyRequest {
    /** Undefined for endpoints without authentication. */
    caller?: Caller;
  }
}

export interface Issuing {
  /**
   * Accepted in `X-API-Key` for everything; authenticates the records of issued keys. At least 32
   * characters.
   */
  readonly rootKey: string;
  /** Store of the records, in the configuration location. Closed by the caller. */
  readonly store: BlobStore;
}

export interface Authentication {
  readonly fixed: FixedKeys;
  readonly issued: IssuedKeys | undefined;
}

/** The API keys that a service accepts. */
export function acceptedKeys(apiKeys: readonly string[], issuing: Issuing | undefined): Authentication {
  return {
    fixed: new FixedKeys(issuing?.rootKey, apiKeys),
    issued: issuing && new IssuedKeys(new KeyStore(issuing.store, issuing.rootKey)),
  };
}

/** Limits the requests per address, whatever their path. */
export function limitAddresses(app: Server, limits: Limits, siblings: Siblings): void {
  const ofAddress = new RateLimit("address", limits.addressRequestsPerMinuteMax, siblings);
  app.addHook("onRequest", async ({ ip }, reply) => {
    await ofAddress.take(networkOf(ip), reply, "requests of this address");
  });
}

/** Checks the API key before bodies are read, and the index before it is used. */
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
  // Not async: fastify must continue within this call.
  scope.addHook("onRequest", (request, _reply, done) => onBehalfOf(ownerOf(request), done));
  // The key may have been revoked while the request waited for those before it.
  scope.addHook("preHandler", async (request, reply) => {
    if (request.routeOptions.config.isLong === true) await identify(request, reply);
  });
  scope.addHook("preHandler", (request, _reply, done) => {
    const { caller } = request;
    const { indexName } = addressOf(request);
    if (caller !== undefined && indexName !== undefined) checkIndex(caller, indexName);
    done();
  });
}

/**
 * Refuses an address that sends many invalid keys with 429, without asking the storage for further
 * ones. Known valid keys keep working for others behind the same address.
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
    // Only requests with a key count.
    if (apiKey !== undefined) {
      if (await failures.count(networkOf(request.ip))) {
        request.log.warn({ address: request.ip }, "alarm: many invalid API keys from one address");
      }
      await checkMayRead();
    }
    throw new SealdexError(
      "unauthenticated",
      apiKey === undefined
        ? "missing API key: send it in X-API-Key"
        : "API key not accepted: check X-API-Key",
    );
  };
}

function apiKeyOf({ headers, routeOptions }: FastifyRequest): string | string[] | undefined {
  const [, bearer] = /^Bearer (\S+)$/i.exec(headers.authorization ?? "") ?? [];
  return headers["x-api-key"] ?? (routeOptions.config.acceptsBearer === true ? bearer : undefined);
}

/**
 * Refuses a client that tries many wrong keys on one index with 429, and logs a warning. A key
 * under which the index is open keeps working.
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
    if (indexes.isOpen({ indexName, indexKey })) return;
    await attempts.check(clientOf(request, indexName), reply, "wrong keys for this index");
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
