/**
 * Settings of the service, from the environment. Messages name the variable and never repeat its
 * value.
 */

import { isIP } from "node:net";
import type { KeyProvider, StorageLocation } from "sealdex/core";
import { checkFolderPath, invalid, type ModelOptions } from "sealdex/wire";
import type { CertificateFiles } from "../http/certificates.js";
import { parseIndexKeyProvider } from "./index-key.js";
import { readLimitSettings } from "./limit-settings.js";
import { type FindLeaves, parseLeaves } from "../leaves/leaf-addresses.js";
import type { Limits } from "../http/limits.js";
import { readLocation } from "./location.js";

export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly indexLocation: StorageLocation;
  readonly configLocation?: StorageLocation;
  readonly anchorLocation?: StorageLocation;
  /** Accepted for everything, besides issued keys. */
  readonly apiKeys: readonly string[];
  /** Authenticates the records of issued API keys, and is accepted for everything. */
  readonly rootKey?: string;
  /** Searches collections on leaves. Undefined: here. */
  readonly leaves?: LeafSettings;
  /** Provides index keys to requests without one. */
  readonly indexKey?: KeyProvider;
  /** Addresses or networks of the proxies whose `X-Forwarded-For` names the client. */
  readonly trustProxy: readonly string[];
  /** Origins of pages that may call the service. */
  readonly corsOrigins: readonly string[];
  /** Folder of the audit log. Undefined: no audit log. */
  readonly auditFolder?: string;
  /** Undefined: HTTP without TLS. */
  readonly tls?: CertificateFiles;
  /** Number of processes that serve the port. */
  readonly processes: number;
  /** Whether to serve the dashboard at `/admin`. */
  readonly dashboard: boolean;
  readonly automaticTraining: boolean;
  /** Maximum staleness of reads, in milliseconds. */
  readonly maxStalenessMs: number;
  /** How long replaced objects are kept for readers in other processes, in milliseconds. */
  readonly retentionMs: number;
  readonly oblivious: boolean;
  readonly storageTimeoutMs: number;
  readonly models: ModelOptions;
  /** Only the limits that are set. */
  readonly limits: Partial<Limits>;
}

export interface LeafSettings {
  readonly find: FindLeaves;
  /** Accepted by all leaves. */
  readonly apiKey: string;
}

/** Reads the settings on demand: `generate-key` needs none. Throws `invalid_request`. */
export type ReadSettings = () => Settings;

const defaultPort = "8000";
/** Shorter API keys can be guessed over the network. `generate-key` makes keys of 64. */
const apiKeyLengthMin = 16;
/** Longer than an API key, since the records that it authenticates can be attacked offline. */
const rootKeyLengthMin = 32;

const processesMax = 128;
/** A quarter of it must suffice for one attempt. */
const storageTimeoutMsMin = 1000;
const retentionMsMax = 15 * 60 * 1000;

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws `invalid_request`. An empty variable counts as unset. */
export function readSettings(environment: Environment): Settings {
  const { SEALDEX_HOST, SEALDEX_PORT, SEALDEX_INDEX_LOCATION, SEALDEX_CONFIG_LOCATION } = environment;
  const { SEALDEX_ANCHOR_LOCATION, SEALDEX_API_KEYS, SEALDEX_AUTOMATIC_TRAINING } = environment;
  const { SEALDEX_MAX_STALENESS_MS, SEALDEX_STORAGE_TIMEOUT_MS, SEALDEX_PROCESSES } = environment;
  const { SEALDEX_AUDIT_FOLDER, SEALDEX_ROOT_KEY, SEALDEX_TRUST_PROXY, SEALDEX_INDEX_KEY } = environment;
  const { SEALDEX_DASHBOARD, SEALDEX_RETENTION_MS, SEALDEX_OBLIVIOUS, SEALDEX_CORS_ORIGINS } = environment;
  if (!SEALDEX_INDEX_LOCATION) {
    throw invalid(
      "SEALDEX_INDEX_LOCATION: expected where to keep indexes, such as file:./data, or memory: to try things out",
    );
  }
  const indexLocation = readLocation(SEALDEX_INDEX_LOCATION, "SEALDEX_INDEX_LOCATION");
  const configLocation = SEALDEX_CONFIG_LOCATION
    ? readLocation(SEALDEX_CONFIG_LOCATION, "SEALDEX_CONFIG_LOCATION")
    : undefined;
  const anchorLocation = SEALDEX_ANCHOR_LOCATION
    ? readLocation(SEALDEX_ANCHOR_LOCATION, "SEALDEX_ANCHOR_LOCATION")
    : undefined;
  return {
    // Given localhost, Fastify opens a second server on ::1, which no limit of connections counts and no signal ends.
    host: SEALDEX_HOST && SEALDEX_HOST !== "localhost" ? SEALDEX_HOST : "127.0.0.1",
    port: parsePort(SEALDEX_PORT || defaultPort),
    indexLocation,
    ...(configLocation && { configLocation }),
    ...(anchorLocation && { anchorLocation }),
    apiKeys: parseApiKeys(SEALDEX_API_KEYS ?? ""),
    ...(SEALDEX_ROOT_KEY && { rootKey: parseRootKey(SEALDEX_ROOT_KEY) }),
    ...(SEALDEX_INDEX_KEY && { indexKey: parseIndexKeyProvider(SEALDEX_INDEX_KEY, environment) }),
    trustProxy: parseProxies(SEALDEX_TRUST_PROXY ?? ""),
    corsOrigins: parseOrigins(SEALDEX_CORS_ORIGINS ?? ""),
    ...(SEALDEX_AUDIT_FOLDER && {
      auditFolder: checkFolderPath(SEALDEX_AUDIT_FOLDER, "SEALDEX_AUDIT_FOLDER"),
    }),
    dashboard: parseSwitch(SEALDEX_DASHBOARD || "on", "SEALDEX_DASHBOARD"),
    automaticTraining: parseSwitch(SEALDEX_AUTOMATIC_TRAINING || "on", "SEALDEX_AUTOMATIC_TRAINING"),
    maxStalenessMs: parseMilliseconds(SEALDEX_MAX_STALENESS_MS || "0", "SEALDEX_MAX_STALENESS_MS"),
    retentionMs: parseMilliseconds(SEALDEX_RETENTION_MS || `${retentionMsMax}`, "SEALDEX_RETENTION_MS", {
      max: retentionMsMax,
    }),
    oblivious: parseSwitch(SEALDEX_OBLIVIOUS || "off", "SEALDEX_OBLIVIOUS"),
    storageTimeoutMs: parseMilliseconds(SEALDEX_STORAGE_TIMEOUT_MS || "15000", "SEALDEX_STORAGE_TIMEOUT_MS", {
      min: storageTimeoutMsMin,
    }),
    ...readTls(environment),
    ...readLeaves(environment),
    processes: parseProcesses(SEALDEX_PROCESSES || "1", [indexLocation, configLocation, anchorLocation]),
    models: readModels(environment),
    limits: readLimitSettings(environment),
  };
}

/** Models beyond the built-in ones are those that the operator names: a request cannot make the service download. */
function readModels(environment: Environment): ModelOptions {
  const { SEALDEX_MODELS, SEALDEX_MODEL_FOLDER, SEALDEX_MODEL_CACHE, SEALDEX_MODEL_DOWNLOADS } = environment;
  return {
    allowed: parseList(SEALDEX_MODELS ?? ""),
    ...(SEALDEX_MODEL_FOLDER && { localFolder: SEALDEX_MODEL_FOLDER }),
    ...(SEALDEX_MODEL_CACHE && { cacheFolder: SEALDEX_MODEL_CACHE }),
    offline: !parseSwitch(SEALDEX_MODEL_DOWNLOADS || "on", "SEALDEX_MODEL_DOWNLOADS"),
    failWhileLoading: true,
  };
}

function readTls(environment: Environment): { readonly tls?: CertificateFiles } {
  const { SEALDEX_TLS_CERT_FILE: certificate, SEALDEX_TLS_KEY_FILE: key } = environment;
  const { SEALDEX_TLS_CLIENT_CA_FILE: clientAuthorities } = environment;
  if (!certificate && !key && !clientAuthorities) return {};
  if (!certificate || !key) {
    throw invalid("SEALDEX_TLS_CERT_FILE, SEALDEX_TLS_KEY_FILE: expected both, a certificate and its key");
  }
  return { tls: { certificate, key, ...(clientAuthorities && { clientAuthorities }) } };
}

function readLeaves({ SEALDEX_LEAVES, SEALDEX_LEAF_API_KEY }: Environment): { leaves?: LeafSettings } {
  if (!SEALDEX_LEAVES) return {};
  if (!SEALDEX_LEAF_API_KEY) {
    throw invalid("SEALDEX_LEAF_API_KEY: expected an API key of the leaves in SEALDEX_LEAVES");
  }
  const find = parseLeaves(SEALDEX_LEAVES, "SEALDEX_LEAVES");
  return { leaves: { find, apiKey: SEALDEX_LEAF_API_KEY } };
}

function parseList(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** 0 lets the system choose. Kubernetes sets the variable to a URL in every pod beside a service named `sealdex`. */
function parsePort(text: string): number {
  if (text.startsWith("tcp://")) return Number(defaultPort);
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) {
    throw invalid("SEALDEX_PORT: expected a number from 0 to 65535");
  }
  return port;
}

function parseProcesses(text: string, locations: readonly (StorageLocation | undefined)[]): number {
  const processes = Number(text);
  if (!/^\d{1,3}$/.test(text) || processes < 1 || processes > processesMax) {
    throw invalid(`SEALDEX_PROCESSES: expected a number from 1 to ${processesMax}`);
  }
  if (processes > 1 && locations.some((each) => each?.location === "memory")) {
    throw invalid("SEALDEX_PROCESSES: expected 1 with the location memory:, which processes cannot share");
  }
  return processes;
}

function parseMilliseconds(text: string, name: string, { min = 0, max = Infinity } = {}): number {
  if (!/^\d{1,9}$/.test(text)) throw invalid(`${name}: expected a whole number of milliseconds`);
  const ms = Number(text);
  if (ms < min) throw invalid(`${name}: expected at least ${min}`);
  if (ms > max) throw invalid(`${name}: expected at most ${max}`);
  return ms;
}

function parseSwitch(text: string, name: string): boolean {
  // YAML writes true and false.
  if (text === "on" || text === "true") return true;
  if (text === "off" || text === "false") return false;
  throw invalid(`${name}: expected on or off`);
}

/**
 * Throws `invalid_request` for a service that would accept no key. None can run without: anyone that reaches it could
 * delete indexes and try index keys.
 */
export function requireKeys({ rootKey, apiKeys, auditFolder }: Settings): void {
  if (auditFolder !== undefined && rootKey === undefined) {
    throw invalid(
      "SEALDEX_ROOT_KEY: expected a key, which authenticates the audit log in SEALDEX_AUDIT_FOLDER",
    );
  }
  if (rootKey !== undefined || apiKeys.length > 0) return;
  throw invalid(
    "SEALDEX_ROOT_KEY: expected a key with which API keys are issued; `sealdex-server generate-key` makes one. " +
      "SEALDEX_API_KEYS, keys separated by commas, is accepted instead",
  );
}

function parseRootKey(text: string): string {
  if (/^[\x21-\x7e]+$/.test(text) && text.length >= rootKeyLengthMin) return text;
  throw invalid(
    `SEALDEX_ROOT_KEY: expected at least ${rootKeyLengthMin} printable ASCII characters without spaces; ` +
      "`sealdex-server generate-key` makes one",
  );
}

function parseProxies(text: string): string[] {
  const proxies = parseList(text);
  const isNetwork = (entry: string) => {
    const [address, bits = "0", ...rest] = entry.split("/");
    const bitsMax = isIP(address) === 6 ? 128 : 32;
    return isIP(address) > 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax && rest.length === 0;
  };
  if (proxies.every(isNetwork)) return proxies;
  throw invalid(
    "SEALDEX_TRUST_PROXY: expected addresses or networks such as 10.0.0.0/8, separated by commas",
  );
}

function parseOrigins(text: string): string[] {
  const origins = parseList(text);
  if (
    origins.every((entry) => /^https?:/.test(entry) && URL.canParse(entry) && new URL(entry).origin === entry)
  )
    return origins;
  throw invalid(
    "SEALDEX_CORS_ORIGINS: expected origins such as https://app.example.com, without a path, separated by commas",
  );
}

function parseApiKeys(text: string): string[] {
  const keys = parseList(text);
  if (!keys.every((key) => /^[\x21-\x7e]+$/.test(key))) {
    throw invalid("SEALDEX_API_KEYS: expected keys of printable ASCII characters without spaces");
  }
  if (keys.some((key) => key.length < apiKeyLengthMin)) {
    throw invalid(
      `SEALDEX_API_KEYS: expected keys of at least ${apiKeyLengthMin} characters; ` +
        "`sealdex-server generate-key` makes one",
    );
  }
  return keys;
}
