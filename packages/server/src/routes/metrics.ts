/**
 * `GET /metrics`, for Prometheus: for all processes and indexes, so for keys without a limit to
 * some indexes.
 */

import { checkUnlimited } from "../access/caller.js";
import type { Server } from "../http/http-server.js";
import type { Metrics, MetricValues } from "../metrics/metrics.js";
import type { Siblings } from "../processes/siblings.js";
import * as schemas from "../schemas/operations.js";

const topic = "metrics";

export function addMetricsRoute(app: Server, metrics: Metrics, siblings: Siblings): void {
  siblings.whenAsked(topic, () => metrics.values());
  app.get(
    "/metrics",
    { schema: schemas.metrics, config: { acceptsBearer: true } },
    async ({ caller }, reply) => {
      if (caller !== undefined) checkUnlimited(caller);
      return reply
        .type(metrics.registry.contentType)
        .send(await metrics.text((await siblings.ask(topic)) as MetricValues[]));
    },
  );
}
