// The service that is measured, in a process of its own. Sends its URL when it listens; answers "begin" once garbage is
// collected, and "end" with what it measured since.

import { createClient, generateKey, openLocation } from "sealdex/core";
import { createApp } from "sealdex-server";
import { Holds } from "./holds.mjs";

const [apiKey] = process.argv.slice(2);
const client = createClient({ indexLocation: { location: "memory" }, automaticTraining: false });
const issuing = { rootKey: generateKey(), store: openLocation({ location: "memory" }) };
const app = await createApp({ client, apiKeys: [apiKey], issuing, version: "bench" });
const holds = new Holds();

process.on("message", (message) => {
  if (message === "end") {
    const measured = holds.read();
    globalThis.gc();
    return process.send({ ...measured, heapBytes: process.memoryUsage().heapUsed });
  }
  globalThis.gc();
  // The collection itself must not count, nor what its pause delayed.
  setTimeout(() => {
    holds.reset();
    process.send("began");
  }, 50);
});
process.on("disconnect", () => process.exit());
process.send(await app.listen({ port: 0, host: "127.0.0.1" }));
