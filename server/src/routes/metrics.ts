/** `GET /metrics`, for Prometheus: of the whole service, so for keys that are not limited to some indexes. */

import { checkUnlimited } from "../keys/caller.js";
import type { Server } from "../http-server.js";
import type { Metrics } from "../metrics.js";
import * as schemas from "../schemas/operations.js";

export function addMetricsRoute(app: Server, metrics: Metrics): void {
  app.get(
    "/metrics",
    { schema: schemas.metrics, config: { acceptsBearer: true } },
    async ({ caller }, reply) => {
      if (caller !== undefined) checkUnlimited(caller);
      return reply.type(metrics.registry.contentType).send(await metrics.text());
    },
  );
}
