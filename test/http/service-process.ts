/** The service as its users run it: a process of its own on the build, settings in the environment. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../packages/server/bin/sealdex-server.js", import.meta.url));

export interface ServiceProcess {
  /** Accepted for everything. */
  readonly rootKey: string;
  readonly baseUrl: string;
  readonly child: ChildProcess;
  /** Ends it at once, and resolves when it has ended. */
  kill(): Promise<void>;
}

/** Resolves once the service says that it listens. `port`: 0 lets the system choose. */
export async function startProcess(environment: Record<string, string>, port = 0): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [program, "serve"], {
    env: { PATH: process.env.PATH, SEALDEX_PORT: String(port), ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  const baseUrl = await new Promise<string>((resolve, reject) => {
    let output = "";
    const read = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000);
      const [, url] = /listening at (https?:\/\/[\d.:]+)/.exec(output) ?? [];
      if (url !== undefined) resolve(url);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("exit", (code) => reject(new Error(`exited with ${code}: ${output}`)));
  });
  return {
    rootKey: environment.SEALDEX_ROOT_KEY ?? "",
    baseUrl,
    child,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
