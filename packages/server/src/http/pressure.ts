/** Refuses requests under overload, so that running ones finish. */

import underPressure from "@fastify/under-pressure";
import { SealdexError } from "sealdex/core";
import type { Server } from "./http-server.js";
import type { Limits } from "./limits.js";

/**
 * Refuses requests of `scope` with `overloaded` while the event loop is late or the heap is nearly
 * full.
 */
export async function refuseUnderPressure(scope: Server, limits: Limits): Promise<void> {
  await scope.register(underPressure, {
    maxEventLoopDelay: limits.eventLoopDelayMsMax,
    maxHeapUsedBytes: limits.heapBytesMax,
    pressureHandler: async (_request, _reply, _type, value = 0) => {
      // No measurement yet, in the first second of a process.
      if (value === Infinity) return;
      throw new SealdexError("overloaded", "the service is overloaded; try again later");
    },
  });
}
