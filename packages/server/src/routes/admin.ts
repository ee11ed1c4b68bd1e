/** `/v1/admin/*`: data of the dashboard. For admin keys without a limit to some indexes. */

import { randomUUID } from "node:crypto";
import { SealdexError } from "sealdex/core";
import { invalid } from "sealdex/wire";
import type { AuditLog } from "../audit/audit-log.js";
import { readLogs } from "../audit/read-log.js";
import type { Server } from "../http/http-server.js";
import { checkUnlimited } from "../access/caller.js";
import type { LastWrites } from "../indexes/last-writes.js";
import { LiveFigures } from "../metrics/live-figures.js";
import type { LocationHealth } from "../metrics/location-health.js";
import type { Metrics } from "../metrics/metrics.js";
import type { OpenIndexes } from "../indexes/open-indexes.js";
import * as schemas from "../schemas/admin.js";

interface Services {
  readonly version: string;
  readonly metrics: Metrics;
  readonly indexes: OpenIndexes;
  readonly lastWrites: LastWrites;
  readonly health: () => Promise<LocationHealth[]>;
  /** Undefined without an audit log. */
  readonly audit: AuditLog | undefined;
}

export function addAdminRoutes(app: Server, services: Services): void {
  const { version, metrics, indexes, lastWrites, health, audit } = services;
  const process = randomUUID();
  app.addHook("preHandler", async ({ caller }) => {
    if (caller !== undefined) checkUnlimited(caller);
  });

  // Polled every few seconds and about no index, so the audit log omits it.
  app.get("/v1/admin/live", { schema: schemas.live, config: { isUnrecorded: true } }, async () =>
    schemas.encodeLive(await LiveFigures.read(metrics), { process, version }),
  );

  app.get("/v1/admin/locations", { schema: schemas.locations }, async () =>
    schemas.encodeLocations(await health()),
  );

  app.post("/v1/admin/open-indexes", { schema: schemas.openIndexes }, async ({ body }) => {
    const known = await Promise.all(
      body.names.map(async (name) => ({
        name,
        lastWriteAt: lastWrites.of(name),
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
