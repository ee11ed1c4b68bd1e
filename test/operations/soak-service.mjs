// A service as a process of its own. Sends its URL when it listens; answers every message with the memory it holds, in
// bytes. Uses the build. Run with --expose-gc.

import { register } from "node:module";
import { EmbeddedClient } from "../../dist/esm/index/embedded-client.js";
import { clock, heldBytes } from "./soak-measure.mjs";

// The service takes the library from the package's bundle, which does not export the client that has a clock.
const [core, wire] = ["core", "service"].map((name) => new URL(`../../dist/esm/${name}.js`, import.meta.url));
const modules = JSON.stringify({ "sealdex/core": core, "sealdex/wire": wire });
const hook = `export const resolve = (name, context, next) => next(${modules}[name] ?? name, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
const { createApp } = await import("../../packages/server/dist/app.js");

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
