/** `sealdex-server serve`: starts the service, and stops it at a signal. */

import { checkLocations, createClient, openLocation, type StorageLocation } from "sealdex/core";
import { createApp } from "../app.js";
import { expiryOf, readCertificates } from "../certificates.js";
import { AuditLog } from "../audit/audit-log.js";
import { openLog } from "../log-output.js";
import { measureCache } from "../measure-cache.js";
import { Metrics } from "../metrics.js";
import { unknownVariables } from "../load-settings.js";
import { supervise } from "../processes/supervise.js";
import { joinSiblings, type Worker } from "../processes/worker.js";
import { requireKeys, type Settings } from "../settings.js";
import { traced } from "../tracing.js";

/** How long the storage may take to respond for the service to count as ready. */
const readyMsMax = 5000;
const signals = ["SIGINT", "SIGTERM"] as const;

/** `version`: what `/v1/health` reports. */
export async function serve(settings: Settings, version: string): Promise<void> {
  requireKeys(settings);
  const worker = joinSiblings(settings.processes);
  if (settings.processes === 1 || worker !== undefined) return serveHere(settings, version, worker);
  supervise(settings.processes, (line) => void process.stdout.write(line));
}

/** In this process. `worker`: as which of several. */
async function serveHere(settings: Settings, version: string, worker: Worker | undefined): Promise<void> {
  const {
    host,
    port,
    apiKeys,
    rootKey,
    trustProxy,
    limits,
    auditFolder,
    indexKey,
    dashboard,
    tls,
    processes: _processes,
    ...clientOptions
  } = settings;
  const { indexLocation, configLocation, anchorLocation, ...others } = clientOptions;
  const { storageTimeoutMs } = others;
  const metrics = new Metrics();
  // Opened here, since API keys are kept next to the configuration of indexes, and calls are measured.
  const open = (location: StorageLocation, name: string) =>
    traced(metrics.measured(openLocation(location, storageTimeoutMs), name), name);
  const indexStore = open(indexLocation, "index");
  const configStore = configLocation === undefined ? indexStore : open(configLocation, "config");
  const anchorStore = anchorLocation && open(anchorLocation, "anchor");
  const client = createClient({
    ...others,
    indexLocation: indexStore,
    configLocation: configStore,
    ...(anchorStore && { anchorLocation: anchorStore }),
  });
  measureCache(metrics, client);
  const certificates = tls && readCertificates(tls);
  if (certificates !== undefined) {
    const help = "When the TLS certificate of the service expires, in seconds since 1970.";
    metrics.gauge("sealdex_certificate_expiry_seconds", help, () => expiryOf(certificates), "min");
  }
  // A location that cannot hold indexes is found out now, not by the first request.
  await checkLocations(client);
  const audit =
    auditFolder !== undefined && rootKey !== undefined
      ? await AuditLog.open({ folder: auditFolder, rootKey, store: configStore })
      : undefined;
  const locations = [
    { name: "index", kind: indexLocation.location, store: indexStore },
    ...(configLocation ? [{ name: "config", kind: configLocation.location, store: configStore }] : []),
    ...(anchorLocation && anchorStore
      ? [{ name: "anchor", kind: anchorLocation.location, store: anchorStore }]
      : []),
  ];
  const app = await createApp({
    client,
    apiKeys,
    version,
    trustProxy: [...trustProxy],
    limits,
    log: openLog(),
    metrics,
    ...(dashboard && { dashboard: locations }),
    models: clientOptions.models.allowed ?? [],
    // Nothing has this name: whether the storage answers is all that is asked.
    checkStorage: () =>
      configStore.read("ready", { offset: 0, length: 0 }, { signal: AbortSignal.timeout(readyMsMax) }),
    ...(audit && { audit }),
    ...(certificates && { certificates }),
    ...(worker && { siblings: worker.siblings }),
    ...(indexKey !== undefined && { indexKey }),
    ...(rootKey !== undefined && { issuing: { rootKey, store: configStore } }),
  });
  const stop = async (signal: string) => {
    app.log.info(`${signal}: stopping once the requests in progress are answered`);
    try {
      await app.close();
      await client.close();
      await audit?.close();
      const stores = new Set([indexStore, configStore, ...(anchorStore ? [anchorStore] : [])]);
      await Promise.all([...stores].map((store) => store.close()));
      app.log.info("stopped");
    } catch {
      app.log.error("stopping failed");
      process.exitCode = 1;
    } finally {
      worker?.leave();
    }
  };
  if (worker !== undefined) worker.whenStopped((signal) => void stop(signal));
  else whenSignalled((signal) => void stop(signal));
  if (tls === undefined && !isLoopback(host)) {
    app.log.warn(
      "API keys and index keys travel unencrypted to this address: set SEALDEX_TLS_CERT_FILE, or put a proxy with TLS before it",
    );
  }
  for (const message of unknownVariables(process.env)) app.log.warn(message);
  await app.listen({ host, port });
}

function whenSignalled(stop: (signal: string) => void): void {
  for (const signal of signals) {
    process.once(signal, () => {
      // A second signal ends the process at once.
      for (const name of signals) process.removeAllListeners(name);
      stop(signal);
    });
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}
