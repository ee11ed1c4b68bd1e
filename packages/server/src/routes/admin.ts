/** `/v1/admin/*`: data of the dashboard. For admin keys without a limit to some indexes. */

import { randomUUID } from "node:crypto";
import { SealdexError } from "sealdex/core";
import { invalid } from "sealdex/wire";
import { readLogs } from "../audit/read-log.js";
import type { Server } from "../http/http-server.js";
import { checkUnlimited } from "../access/caller.js";
import { noteWrites } from "../indexes/last-writes.js";
import { healthOf, type LocationHealth } from "../metrics/location-health.js";
import type { Metrics } from "../metrics/metrics.js";
import * as schemas from "../schemas/admin.js";
import { encodeLive, live } from "../schemas/live.js";
import type { Services } from "./services.js";

export function addAdminRoutes(scope: Server, services: Services): void {
  const { dashboard, metrics } = services;
  if (dashboard === undefined || metrics === undefined) return;
  const lastWrites = noteWrites(scope);
  scope.register(async (app: Server) => {
    addDashboardRoutes(app, { ...services, metrics, lastWrites, health: healthOf(dashboard) });
  });
}

interface DashboardServices extends Services {
  readonly metrics: Metrics;
  readonly lastWrites: ReadonlyMap<string, number>;
  readonly health: () => Promise<LocationHealth[]>;
}

function addDashboardRoutes(app: Server, services: DashboardServices): void {
  const { version, metrics, indexes, lastWrites, health, audit } = services;
  const process = randomUUID();
  app.addHook("preHandler", async ({ caller }) => {
    if (caller !== undefined) checkUnlimited(caller);
  });

  // Polled every few seconds and about no index, so the audit log omits it.
  app.get("/v1/admin/live", { schema: live, config: { isUnrecorded: true } }, async () =>
    encodeLive(await metrics.values(), { process, version }),
  );

  app.get("/v1/admin/locations", { schema: schemas.locations }, async () => ({ locations: await health() }));

  app.post("/v1/admin/open-indexes", { schema: schemas.openIndexes }, async ({ body }) => {
    const known = await Promise.all(
      body.names.map(async (name) => ({
        name,
        lastWriteAt: lastWrites.get(name),
        known: await indexes.describe(name),
      })),
    );
    return { indexes: known.map(schemas.encodeKnown) };
  });

  app.get("/v1/admin/audit", { schema: schemas.audit }, async ({ query }) => {
    if (audit === undefined) {
      throw new SealdexError("not_supported", "this service writes no audit log; set SEALDEX_AUDIT_FOLDER");
    }
    const { limit, before } = schemas.decodeAuditQuery(query);
    if (before === undefined && query.before !== undefined) throw invalid("before: expected next of a page");
    return schemas.encodeAudit(await readLogs(audit.options, limit, before), limit);
  });
}
