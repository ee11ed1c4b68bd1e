/** `sealdex-server health`: whether the local service responds, for container supervisors. */

import { once } from "node:events";
import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import type { Command } from "commander";
import { SealdexError } from "sealdex/core";
import type { ReadSettings, Settings } from "../settings/settings.js";

const timeoutMs = 5000;

interface HealthOptions {
  readonly ready?: boolean;
}

export function addHealthCommand(program: Command, read: ReadSettings): void {
  program
    .command("health")
    .description("Check whether the service is running (exit code 0 or 1).")
    .option("--ready", "also check that its storage responds")
    .action(async ({ ready = false }: HealthOptions) => {
      const settings = read();
      const isUp = await isHealthy(settings, ready ? "ready" : "live");
      const where = `${settings.host}, port ${settings.port}`;
      if (isUp) process.stdout.write(`${ready ? "ready" : "running"} (${where})\n`);
      else
        throw new SealdexError(
          "storage_unavailable",
          `the service is not ${ready ? "ready" : "running"} (${where})`,
        );
    });
}

async function isHealthy({ host, port, tls }: Settings, state: "live" | "ready"): Promise<boolean> {
  const address = {
    // An address for all interfaces cannot be connected to.
    host: host === "0.0.0.0" || host === "::" ? "localhost" : host,
    port,
    path: `/v1/health/${state}`,
    signal: AbortSignal.timeout(timeoutMs),
    // The certificate may be for another name; the request contains no secret.
    rejectUnauthorized: false,
  };
  try {
    const sent = (tls === undefined ? requestPlain : requestTls)(address);
    sent.end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.destroy();
    return response.statusCode === 200;
  } catch {
    return false;
  }
}
