/** Health, metrics, and the trainings of all processes. */

import { SealdexError } from "sealdex/core";
import { encodeHealth } from "sealdex/wire";
import { checkUnlimited, mayUseIndex } from "../access/caller.js";
import type { Server } from "../http/http-server.js";
import { sharedFor } from "../http/shared-for.js";
import type { MetricValues } from "../metrics/metrics.js";
import * as schemas from "../schemas/operations.js";
import type { Services } from "./services.js";

/** Shortest interval between two storage checks. */
const checkMs = 1000;

export function addHealthRoutes(app: Server, { version, checkStorage }: Services): void {
  let isStopping = false;
  const check = sharedFor(checkMs, checkStorage);
  app.addHook("preClose", async () => {
    isStopping = true;
  });
  const isHealthy = async () => encodeHealth(version);
  app.get("/v1/health", { schema: schemas.health }, isHealthy);
  app.get("/v1/health/live", { schema: schemas.live }, isHealthy);
  app.get("/v1/health/ready", { schema: schemas.ready }, async () => {
    if (isStopping) throw new SealdexError("overloaded", "the service is stopping");
    try {
      await check();
    } catch (cause) {
      // Includes time-outs.
      throw new SealdexError("storage_unavailable", "the storage did not respond", { cause });
    }
    return encodeHealth(version);
  });
}

/** Both are of all processes. */
export function addOperationRoutes(app: Server, { trainings, metrics, siblings }: Services): void {
  siblings.whenAsked("trainings", () => trainings.running);
  const options = { schema: schemas.trainingStatus, config: { isKeyOptional: true } };
  app.get("/v1/indexes/training-status", options, async ({ caller }) => {
    // Published clients send no API key; the response then names no index.
    if (caller === undefined) return schemas.encodeTrainingStatus([]);
    const others = (await siblings.ask("trainings")) as string[][];
    const names = new Set([...trainings.running, ...others.flat()]);
    return schemas.encodeTrainingStatus([...names].filter((name) => mayUseIndex(caller, name)));
  });

  if (metrics === undefined) return;
  siblings.whenAsked("metrics", () => metrics.values());
  const forPrometheus = { schema: schemas.metrics, config: { acceptsBearer: true } };
  app.get("/metrics", forPrometheus, async ({ caller }, reply) => {
    if (caller !== undefined) checkUnlimited(caller);
    const others = (await siblings.ask("metrics")) as MetricValues[];
    return reply.type(metrics.registry.contentType).send(await metrics.text(others));
  });
}
