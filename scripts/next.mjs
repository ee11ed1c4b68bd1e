// `next build` and `next start`, in a project that has Next installed.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { patience } from "./patience.mjs";

const quiet = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };
const program = (project) => join(project, "node_modules", "next", "dist", "bin", "next");

export function buildNext(project) {
  const options = { cwd: project, env: quiet, timeout: patience };
  return promisify(execFile)(process.execPath, [program(project), "build"], options);
}

/** Starts a project that is built, calls the function with its URL, and stops it. */
export async function withNext(project, env, use) {
  const port = String(await freePort());
  const args = [program(project), "start", "--hostname", "127.0.0.1", "--port", port];
  const service = spawn(process.execPath, args, {
    cwd: project,
    env: { ...quiet, ...env },
    stdio: ["ignore", "pipe", "inherit"],
    timeout: patience,
  });
  const ended = once(service, "exit");
  try {
    await new Promise((resolve, reject) => {
      service.once("exit", () => reject(new Error("next start ended")));
      service.stdout.on("data", (text) => String(text).includes("Ready") && resolve());
    });
    return await use(`http://127.0.0.1:${port}`);
  } finally {
    service.kill();
    await ended;
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
