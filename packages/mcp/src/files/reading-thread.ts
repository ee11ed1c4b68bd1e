/** The thread that reads documents; see document-reader.ts. */

import { Console } from "node:console";
import { parentPort } from "node:worker_threads";
import { readText } from "./read-text.js";

// As in main.ts.
globalThis.console = new Console(process.stderr);

export type Answer = { readonly text: string } | { readonly fault: string };

async function answer(path: string, bytes: Uint8Array): Promise<Answer> {
  try {
    return { text: await readText(path, bytes) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : "unknown" };
  }
}

parentPort?.on("message", ({ path, bytes }: { readonly path: string; readonly bytes: Uint8Array }) => {
  void answer(path, bytes).then((answered) => parentPort?.postMessage(answered, []));
});
