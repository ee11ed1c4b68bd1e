/** `/v1/health`, `/v1/health/live` and `/v1/health/ready`. No API key required. */

import { SealdexError } from "sealdex/core";
import { encodeHealth } from "sealdex/wire";
import type { Server } from "../http/http-server.js";
import { sharedFor } from "../http/shared-for.js";
import * as schemas from "../schemas/operations.js";

/** Shortest interval between two storage checks. */
const checkMs = 1000;

/** `checkStorage` rejects if the service cannot serve requests. */
export function addHealthRoutes(
  app: Server,
  version: string,
  checkStorage: () => Promise<unknown> = async () => undefined,
): void {
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
