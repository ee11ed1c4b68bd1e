/** Measures requests, open indexes and connections. */

import type { Server } from "../http/http-server.js";
import type { Metrics } from "./metrics.js";
import type { OpenIndexes } from "../indexes/open-indexes.js";
import { whenEnded } from "../http/request-end.js";
import type { Trainings } from "../indexes/trainings.js";

export function measure(app: Server, metrics: Metrics, indexes: OpenIndexes, trainings: Trainings): void {
  app.addHook("onRequest", (request, reply, done) => {
    metrics.begin();
    whenEnded(reply, () => metrics.end(request, reply));
    done();
  });
  metrics.gauge("sealdex_open_indexes", "Indexes that are kept open.", () => indexes.count);
  metrics.measuredRecall(() => indexes.leastRecall());
  metrics.gauge("sealdex_trainings_running", "Trainings that run now.", () => trainings.running.length);
}
