// A service as a process of its own. Sends its URL when it listens; answers every message with the memory it holds, in
// bytes. Uses the build. Run with --expose-gc.

import { createApp } from "../../packages/server/dist/app.js";
import { EmbeddedClient } from "../../dist/esm/index/embedded-client.js";
import { clock, heldBytes } from "./soak-measure.mjs";

const client = new EmbeddedClient({ indexLocation: { location: "memory" }, automaticTraining: false }, clock);
// Whether the event loop is late depends on the machine.
const limits = { eventLoopDelayMsMax: 0 };
const app = await createApp({ client, apiKeys: [process.argv[2]], limits, version: "soak" });

async function report() {
  process.send((await heldBytes()) + client.memory().kernelBytes);
}

process.on("message", () => void report());
process.on("disconnect", () => process.exit());
process.send(await app.listen({ port: 0, host: "127.0.0.1" }));
