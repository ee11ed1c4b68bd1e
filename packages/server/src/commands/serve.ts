/** `sealdex-server serve`: starts the service, and stops it at a signal. */

import cluster from "node:cluster";
import { checkLocations, createClient, openLocation, type StorageLocation } from "sealdex/core";
import { createRouter, invalid } from "sealdex/wire";
import { createApp } from "../app.js";
import { expiryOf, readCertificates } from "../http/certificates.js";
import { AuditLog } from "../audit/audit-log.js";
import type { Server } from "../http/http-server.js";
import { openLog } from "../settings/log-output.js";
import type { Location } from "../metrics/location-health.js";
import { measureCache } from "../metrics/measure.js";
import { Metrics } from "../metrics/metrics.js";
import { unknownVariables } from "../settings/load-settings.js";
import { Siblings } from "../processes/siblings.js";
import type { LeafSettings, Settings } from "../settings/settings.js";

/** Time limit of storage in the readiness check. */
const readyMsMax = 5000;
const signals = ["SIGINT", "SIGTERM"] as const;

/** Serves in this process. `version` is reported by `/v1/health`. */
export async function serve(settings: Settings, version: string): Promise<void> {
  const {
    host,
    port,
    apiKeys,
    rootKey,
    trustProxy,
    corsOrigins,
    limits,
    auditFolder,
    indexKey,
    dashboard,
    tls,
    processes,
    leaves,
    ...clientOptions
  } = settings;
  const metrics = new Metrics();
  const locations = openLocations(settings, metrics);
  const { index, config = index, anchor } = locations;
  const stores = {
    ...clientOptions,
    indexLocation: index.store,
    configLocation: config.store,
    ...(anchor && { anchorLocation: anchor.store }),
  };
  const asked = leaves && (await openLeaves(leaves, metrics));
  const client = asked === undefined ? createClient(stores) : createRouter(stores, asked.search);
  measureCache(metrics, client);
  const certificates = tls && readCertificates(tls);
  if (certificates !== undefined) {
    const help = "When the TLS certificate of the service expires, in seconds since 1970.";
    metrics.gauge("sealdex_certificate_expiry_seconds", help, () => expiryOf(certificates), "min");
  }
  // Finds unusable locations now instead of in the first request.
  await checkLocations(client);
  const audit =
    auditFolder !== undefined && rootKey !== undefined
      ? await AuditLog.open({ folder: auditFolder, rootKey, store: config.store })
      : undefined;
  const app = await createApp({
    client,
    apiKeys,
    version,
    trustProxy: [...trustProxy],
    corsOrigins,
    limits,
    log: openLog(),
    metrics,
    ...(dashboard && { dashboard: Object.values(locations) }),
    models: clientOptions.models.allowed ?? [],
    // No blob has this name: the read only checks that storage responds.
    checkStorage: () =>
      config.store.read("ready", { offset: 0, length: 0 }, { signal: AbortSignal.timeout(readyMsMax) }),
    ...(audit && { audit }),
    ...(certificates && { certificates }),
    siblings: new Siblings(processes),
    ...(indexKey !== undefined && { indexKey }),
    ...(rootKey !== undefined && { issuing: { rootKey, store: config.store } }),
  });
  const opened = Object.values(locations).map(({ store }) => store);
  whenSignalled((signal) => void closeAll(app, [app, client, asked, audit, ...opened], signal));
  if (tls === undefined && !isLoopback(host)) {
    app.log.warn(
      "API keys and index keys travel unencrypted to this address: set SEALDEX_TLS_CERT_FILE, or put a proxy with TLS before it",
    );
  }
  for (const message of unknownVariables(process.env)) app.log.warn(message);
  const views = `${dashboard ? "dashboard /admin · " : ""}API /docs`;
  const isFirst = (cluster.worker?.id ?? 1) === 1;
  const listening = app.listen({
    host,
    port,
    ...(process.stdout.isTTY && {
      listenTextResolver: (address: string) =>
        isFirst
          ? `Sealdex ${version} at ${address} · ${views} · storage ${placeOf(settings.indexLocation)}`
          : `process ${process.pid} is ready`,
    }),
  });
  await listening.catch((error: Error) => {
    throw invalid(`SEALDEX_HOST, SEALDEX_PORT: cannot listen there: ${error.message}`);
  });
}

/** API keys are stored next to the configuration of indexes, so locations are opened here. */
function openLocations(
  { indexLocation, configLocation, anchorLocation, storageTimeoutMs }: Settings,
  metrics: Metrics,
): { readonly index: Location; readonly config?: Location; readonly anchor?: Location } {
  const open = (location: StorageLocation, name: string) => ({
    name,
    kind: location.location,
    store: metrics.observed(openLocation(location, storageTimeoutMs), name),
  });
  return {
    index: open(indexLocation, "index"),
    ...(configLocation && { config: open(configLocation, "config") }),
    ...(anchorLocation && { anchor: open(anchorLocation, "anchor") }),
  };
}

/** Closes all, in this order: one that stayed open would keep the process alive. */
async function closeAll(
  { log }: Pick<Server, "log">,
  parts: readonly ({ close(): Promise<unknown> } | undefined)[],
  signal: string,
): Promise<void> {
  log.info(`${signal}: stopping after the running requests`);
  const failures: unknown[] = [];
  for (const part of parts) await part?.close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) {
    log.error("stopping failed");
    process.exitCode = 1;
  } else log.info("stopped");
  // Connected to the supervisor, the process would not end.
  cluster.worker?.disconnect();
}

/** Loaded by routers alone, since the HTTP client takes 20 MB. */
async function openLeaves({ find, apiKey }: LeafSettings, metrics: Metrics) {
  const { Leaves } = await import("../leaves/leaves.js");
  return new Leaves(find, apiKey, metrics);
}

/** A local path; of other locations, which contain secrets, the kind. */
function placeOf(location: StorageLocation): string {
  return location.location === "local" ? location.path : location.location;
}

function whenSignalled(stop: (signal: string) => void): void {
  let isStopping = false;
  // The listeners stay: without one, a repeated signal would end a process that is stopping.
  const listener = (signal: NodeJS.Signals) => {
    if (!isStopping) stop(signal);
    // A worker gets the signal of the terminal and that of its supervisor.
    else if (!cluster.isWorker) process.exit(1);
    isStopping = true;
  };
  for (const signal of signals) process.on(signal, listener);
}

function isLoopback(host: string): boolean {
  return host === "::1" || host.startsWith("127.");
}
