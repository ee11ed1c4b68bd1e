/** Shared by the routes of one service. */

import type { FastifyReply } from "fastify";
import type { Client } from "sealdex/core";
import { type AddressBody, decodeAddress, type Leaf, served, type ServedIndex } from "sealdex/wire";
import type { IssuedKeys } from "../access/issued-keys.js";
import type { AuditLog } from "../audit/audit-log.js";
import type { Server } from "../http/http-server.js";
import type { Limits } from "../http/limits.js";
import { type ReadLimits, sendJson } from "../http/results.js";
import type { OpenIndexes } from "../indexes/open-indexes.js";
import type { Trainings } from "../indexes/trainings.js";
import type { Location } from "../metrics/location-health.js";
import type { Metrics } from "../metrics/metrics.js";
import type { Siblings } from "../processes/siblings.js";

export interface Services {
  readonly version: string;
  readonly client: Client;
  readonly leaf: Leaf;
  readonly indexes: OpenIndexes;
  readonly trainings: Trainings;
  readonly limits: Limits;
  readonly reading: (reply: FastifyReply) => ReadLimits;
  /** Embedding models that the operator allows. */
  readonly models: readonly string[];
  readonly siblings: Siblings;
  /** Undefined if no API keys can be issued. */
  readonly issued: IssuedKeys | undefined;
  readonly audit: AuditLog | undefined;
  readonly metrics: Metrics | undefined;
  /** Locations of the dashboard. Undefined without a dashboard. */
  readonly dashboard: readonly Location[] | undefined;
  /** Rejects if the service cannot serve requests. */
  readonly checkStorage: () => Promise<unknown>;
}

/** Adds routes to a scope. */
export type Routes = (scope: Server, services: Services) => void;

type Reading = (index: ServedIndex, results: ReadLimits) => Promise<Iterable<string>>;

/** Responds with the texts that a function reads from the index of a request. */
export function readerOf({ indexes, reading }: Pick<Services, "indexes" | "reading">) {
  return (body: AddressBody, reply: FastifyReply, read: Reading): Promise<void> => {
    const results = reading(reply);
    const sent = indexes.use<unknown>(decodeAddress(body), async (index) =>
      sendJson(reply, await read(served(index), results)),
    );
    // Fastify takes the reply for sent, but its types know only its payload.
    return sent as Promise<void>;
  };
}
