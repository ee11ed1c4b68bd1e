/** The thread that parses long bodies. A body has a port of its own; see thread-parser.ts. */

import { type MessagePort, parentPort } from "node:worker_threads";
import { Fault, JsonParts, type Part, type Streamed } from "./json-parts.js";

export type Answer = { readonly parts: Part[] } | { readonly rest: unknown } | { readonly fault: string };

parentPort?.on("message", ({ port, streamed }: { port: MessagePort; streamed: Streamed }) => {
  const parser = new JsonParts(streamed);
  const answer = (bytes: Uint8Array | undefined): Answer => {
    try {
      return bytes === undefined ? { rest: parser.finish() } : { parts: parser.push(bytes) };
    } catch (error) {
      if (error instanceof Fault) return { fault: error.message };
      throw error;
    }
  };
  port.on("message", (bytes: Uint8Array | undefined) => port.postMessage(answer(bytes)));
});
