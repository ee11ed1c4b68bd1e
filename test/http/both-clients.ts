/** The embedded client and a client of a service, for tests of their common behavior. */

import { afterAll } from "vitest";
import { type Client, createClient } from "../../src/core.js";
import { type RunningService, startService } from "./service.js";

/** Both are closed after the tests of the file. */
export async function startBoth(): Promise<{ service: RunningService; clients: Record<string, Client> }> {
  const service = await startService();
  const clients = {
    embedded: createClient({ indexLocation: { location: "memory" } }),
    "over HTTP": createClient(service.address),
  };
  afterAll(async () => {
    for (const client of Object.values(clients)) await client.close();
    await service.close();
  });
  return { service, clients };
}
