/** `sealdex-server serve`: starts the service, and stops it at a signal. */

import { checkLocations, createClient, openLocation } from "sealdex/core";
import { createApp } from "../app.js";
import { AuditLog } from "../audit/audit-log.js";
import { readSettings, requireKeys } from "../settings.js";

const signals = ["SIGINT", "SIGTERM"] as const;

/** `version`: what `/v1/health` reports. */
export async function serve(version: string): Promise<void> {
  const settings = readSettings(process.env);
  requireKeys(settings);
  const { host, port, apiKeys, rootKey, trustProxy, auditFolder, indexKey, ...clientOptions } = settings;
  const { indexLocation, configLocation, ...others } = clientOptions;
  // Opened here, since API keys are kept next to the configuration of indexes.
  const configStore = openLocation(configLocation ?? indexLocation);
  const client = createClient({
    ...others,
    indexLocation: configLocation === undefined ? configStore : indexLocation,
    configLocation: configStore,
  });
  // A location that cannot hold indexes is found out now, not by the first request.
  await checkLocations(client);
  const audit =
    auditFolder !== undefined && rootKey !== undefined
      ? await AuditLog.open({ folder: auditFolder, rootKey, store: configStore })
      : undefined;
  const app = await createApp({
    client,
    apiKeys,
    version,
    trustProxy: [...trustProxy],
    log: process.stdout,
    ...(audit && { audit }),
    ...(indexKey !== undefined && { indexKey }),
    ...(rootKey !== undefined && { issuing: { rootKey, store: configStore } }),
  });
  const stop = async (signal: NodeJS.Signals) => {
    // A second signal ends the process at once.
    for (const name of signals) process.removeAllListeners(name);
    app.log.info(`${signal}: stopping once the requests in progress are answered`);
    try {
      await app.close();
      await client.close();
      await audit?.close();
      await configStore.close();
      app.log.info("stopped");
    } catch {
      app.log.error("stopping failed");
      process.exitCode = 1;
    }
  };
  for (const signal of signals) process.once(signal, (name) => void stop(name));
  if (!isLoopback(host)) {
    app.log.warn(
      "API keys and index keys travel unencrypted to this address: put a proxy with TLS before it",
    );
  }
  await app.listen({ host, port });
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}
