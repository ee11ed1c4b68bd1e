import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "../../src/core.js";
import { indexBehaviour } from "./behaviour.js";

indexBehaviour("in memory", async () => {
  const client = createClient({ indexLocation: { location: "memory" } });
  return { client, close: () => client.close() };
});

indexBehaviour("on local disk, configuration apart", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sealdex-"));
  const client = createClient({
    indexLocation: { location: "local", path: join(folder, "index") },
    configLocation: { location: "local", path: join(folder, "config") },
  });
  return {
    client,
    close: async () => {
      await client.close();
      await rm(folder, { recursive: true });
    },
  };
});
