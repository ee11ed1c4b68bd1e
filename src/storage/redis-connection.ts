/**
 * A connection to Redis, single or cluster, by ioredis: made from a connection string, or the caller's own.
 *
 *     redis://user:password@host:6379/0        rediss://… with TLS
 *     redis://host1:7001,host2:7001            several nodes of a cluster, in case one is down
 *
 * The driver asks the server whether it belongs to a cluster and never sends a command twice. A broken connection
 * rejects its pending calls at once, and the next call opens a new one.
 */

import { createConnection } from "node:net";
import { SealdexError } from "../errors.js";
import { codeOf, noTls, withTimeout } from "./failure.js";
import { checkPeer, type PeerPackage, peerFailure } from "../checks/peer-package.js";
import { isError } from "../checks/value-kinds.js";

/** The members of ioredis's `Redis` or `Cluster` that the driver uses. */
export interface RedisClient {
  getrangeBuffer(key: string, first: number, last: number): Promise<Uint8Array>;
  zrangebylex(
    key: string,
    min: string,
    max: string,
    limit: "LIMIT",
    offset: number,
    count: number,
  ): Promise<string[]>;
  info(): Promise<string>;
  select(db: number): Promise<unknown>;
  multi(commands: unknown[][]): {
    exec(): Promise<[error: Error | null, result: unknown][] | null>;
  };
}

export interface RedisConnection {
  readonly client: RedisClient;
  /** Whether it has ended for good and must be replaced. */
  hasEnded(): boolean;
  /** The cause of an error that says only that there is no connection. */
  reasonFor(error: unknown): unknown;
  /** Ends a connection that does not respond. */
  giveUp(): void;
  close(): Promise<void>;
}

export interface RedisAddress {
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly username?: string;
  readonly password?: string;
  readonly db: number;
  readonly tls: boolean;
}

const connectTimeoutMs = 10_000;
const reconnectDelayMsMax = 1_000;

const evictingPolicy = new RegExp("^maxmemory_policy:(allkeys-\\S+)", "m");

/** Throws `invalid_request`. Messages do not repeat the received value. */
export function parseRedisAddress(connectionString: unknown): RedisAddress {
  const address = typeof connectionString === "string" ? tryParse(connectionString) : undefined;
  if (address !== undefined) return address;
  throw new SealdexError(
    "invalid_request",
    "storage location redis: expected connectionString to be redis:// or rediss://, then user:password@ (percent-encoded) " +
      "if needed, host:port or several of them separated by commas, and /number for a database",
  );
}

function tryParse(text: string): RedisAddress | undefined {
  const match = /^(rediss?):\/\/(?:([^@/?#:]*)(?::([^@/?#]*))?@)?([^@/?#]+)(?:\/(\d{0,6}))?$/i.exec(text);
  if (match === null) return undefined;
  const [, scheme, username = "", password = "", hosts, db = ""] = match;
  try {
    return {
      nodes: hosts.split(",").map(parseNode),
      ...(username !== "" && { username: decodeURIComponent(username) }),
      ...(password !== "" && { password: decodeURIComponent(password) }),
      db: Number(db),
      tls: scheme.toLowerCase() === "rediss",
    };
  } catch {
    // Invalid host, port or percent-encoding. The error may quote the text, so it is not kept as a
    // cause.
    return undefined;
  }
}

function parseNode(text: string): { host: string; port: number } {
  const { hostname, port } = new URL(`redis://${text}`);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? 6379 : Number(port) };
}

/**
 * Uses the caller's client, which is neither interrupted nor closed and reconnects as configured.
 */
export function useClient(client: RedisClient): RedisConnection {
  return {
    client,
    hasEnded: () => false,
    reasonFor: (error) => reasonFor(error, undefined),
    giveUp: () => {},
    close: async () => {},
  };
}

const ioredisPackage: PeerPackage = {
  name: "ioredis",
  range: "^5.4.0 || ^6.0.0",
  feature: "storage location redis",
  exports: ["Redis", "Cluster"],
};

async function loadIoredis() {
  try {
    return checkPeer(await import("ioredis"), ioredisPackage);
  } catch (cause) {
    throw peerFailure(cause, ioredisPackage);
  }
}

/**
 * Connects. Rejects with the error of ioredis, or with `not_supported` if it is not installed. `begun` is called
 * with each connection before a server has answered: the caller can give it up.
 */
export async function connect(
  address: RedisAddress,
  timeoutMs: number,
  begun: (connection: RedisConnection) => void,
): Promise<RedisConnection> {
  const ioredis = await loadIoredis();
  const { nodes, db, tls, username, password } = address;
  const options = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: {} }),
    connectTimeout: connectTimeoutMs,
    keepAlive: 30_000,
    // A command is sent once: the caller decides whether it may be repeated.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  };
  const retryStrategy = (times: number) => Math.min(50 * times, reconnectDelayMsMax);
  if (nodes.length === 1) {
    const single = manage(new ioredis.Redis({ ...options, ...nodes[0], db, retryStrategy }));
    begun(single);
    try {
      const info = await withTimeout(timeoutMs, infoOf(single.client));
      if (!/^(redis|server)_mode:cluster\b/m.test(info)) return single;
    } catch (error) {
      const reason = single.reasonFor(error);
      await single.close();
      const isPlain = tls && codeOf(reason) === "ETIMEDOUT" && (await answersWithoutTls(nodes[0]));
      throw isPlain ? Object.assign(new Error(), { code: noTls }) : reason;
    }
    await single.close();
  }
  if (db !== 0) {
    throw new SealdexError("invalid_request", "storage location redis: a cluster has only database 0");
  }
  const cluster = manage(
    new ioredis.Cluster([...nodes], {
      redisOptions: options,
      retryDelayOnFailover: 0,
      // Ends if no node is left, which rejects pending calls; the next operation opens another.
      clusterRetryStrategy: () => null,
      slotsRefreshTimeout: connectTimeoutMs,
      // Certificates contain names, not addresses.
      ...(tls && {
        dnsLookup: (name: string, found: (_: null, address: string) => void) => found(null, name),
      }),
    }),
  );
  begun(cluster);
  return cluster;
}

/** A Redis without TLS takes the greeting of TLS for the beginning of a line, and waits for its end. */
function answersWithoutTls({ host, port }: RedisAddress["nodes"][number]): Promise<boolean> {
  const socket = createConnection({ host, port, timeout: connectTimeoutMs });
  return new Promise<boolean>((resolve) => {
    socket.write("PING\r\n");
    socket.once("data", (answer) => resolve(/^[-+]/.test(answer.toString("latin1"))));
    for (const event of ["error", "timeout", "close"]) socket.once(event, () => resolve(false));
  }).finally(() => socket.destroy());
}

interface OwnClient extends RedisClient {
  readonly status: string;
  on(event: "error" | "ready", listener: (error: unknown) => void): unknown;
  once(event: "end", listener: () => void): unknown;
  disconnect(): void;
}

function manage(client: OwnClient): RedisConnection {
  let lastError: unknown;
  let wasGivenUp = false;
  client.on("error", (error) => {
    lastError = error;
  });
  client.on("ready", () => {
    lastError = undefined;
  });
  return {
    client,
    hasEnded: () => wasGivenUp || client.status === "end",
    reasonFor: (error) => reasonFor(error, lastError),
    giveUp() {
      wasGivenUp = true;
      client.disconnect();
    },
    async close() {
      const wasReady = client.status === "ready";
      const ended = new Promise<void>((resolve) => client.once("end", resolve));
      client.disconnect();
      // A connection that is still opening does not emit "end".
      if (wasReady) await ended;
    },
  };
}

/** Replaces "the connection is closed" by the connection's own error. */
function reasonFor(error: unknown, lastError: unknown): unknown {
  const isClosed =
    isError(error) &&
    // Not by name: ioredis takes it from the class, which minifiers rename.
    /^(Reached the max retries per request|Connection is closed|None of startup)/.test(error.message);
  if (isClosed) return innermost(lastError) ?? Object.assign(new Error(), { code: "ECONNRESET" });
  return innermost(error);
}

/**
 * ioredis attaches the last node's error to that of a cluster, and errors of commands to that of a
 * transaction.
 */
function innermost(error: unknown): unknown {
  if (typeof error !== "object" || error === null) return error;
  const { lastNodeError, previousErrors } = error as { lastNodeError?: unknown; previousErrors?: unknown[] };
  return lastNodeError ?? previousErrors?.[0] ?? error;
}

/** Output of INFO; empty if the command is forbidden. */
async function infoOf(client: Pick<RedisClient, "info">): Promise<string> {
  try {
    return await client.info();
  } catch (error) {
    if (isError(error) && /^NOPERM|unknown command/i.test(error.message)) return "";
    throw error;
  }
}

/**
 * Throws `not_supported` if a server evicts keys without an expiry, which all of ours are, or if
 * reads go to replicas, which lag. Throws `invalid_request` if the database does not exist, for
 * which ioredis silently takes 0.
 */
export async function checkServers(client: RedisClient, allowEviction: boolean): Promise<void> {
  const { nodes, options } = client as {
    nodes?: (role: "master") => Pick<RedisClient, "info">[];
    options?: { scaleReads?: unknown; db?: number };
  };
  if ((options?.scaleReads ?? "master") !== "master") {
    throw new SealdexError(
      "not_supported",
      "storage location redis: expected a Cluster whose scaleReads is master; replicas may lag behind",
    );
  }
  // The first response arrives once a cluster's nodes are known.
  const first = await infoOf(client);
  if (nodes === undefined && /^role:slave\b/m.test(first)) {
    throw new SealdexError(
      "not_supported",
      "storage location redis: expected a master, got a replica, which is read-only and may lag behind",
    );
  }
  if (options?.db) await checkDatabase(client, options.db);
  if (allowEviction) return;
  const others = nodes === undefined ? [] : await Promise.all(nodes.call(client, "master").map(infoOf));
  for (const info of [first, ...others]) {
    const [, policy] = evictingPolicy.exec(info) ?? [];
    if (policy === undefined) continue;
    throw new SealdexError(
      "not_supported",
      `storage location redis: expected a server that never evicts, got maxmemory-policy ${policy}, which deletes ` +
        "parts of an index when memory runs short; set noeviction, or give allowEviction: true if losing the index is acceptable",
    );
  }
}

async function checkDatabase(client: RedisClient, db: number): Promise<void> {
  try {
    await client.select(db);
  } catch (error) {
    if (!isError(error) || !/out of range/i.test(error.message)) throw error;
    throw new SealdexError("invalid_request", `storage location redis: the server has no database ${db}`);
  }
}
