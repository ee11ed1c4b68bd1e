/** A single Redis whose every write is on disk before it is acknowledged; with a password, and with TLS on demand. */

import { join } from "node:path";
import { Redis } from "ioredis";
import { makeAuthority, makeCertificate } from "./certificate.js";
import {
  deleteFolder,
  findProgram,
  freePorts,
  type RestartableServer,
  ServerProcess,
  temporaryFolder,
  type TestServer,
} from "./test-server.js";

const password = "between-redis-and-us";

export const redis: TestServer = {
  name: "redis",
  variable: "SEALDEX_TEST_REDIS_URL",
  packages: ["redis-server"],
  isInstalled: () => redisProgram() !== undefined,
  start: () => startRedis(),
};

export function redisProgram(): string | undefined {
  return findProgram("redis-server") ?? findProgram("valkey-server");
}

export interface RedisServer extends RestartableServer {
  readonly port: number;
  /** Of the authority that signed the server's certificate, where there is TLS. */
  readonly caFile: string;
}

/** `options` are added to the command line, such as `--maxmemory-policy allkeys-lru`. */
export async function startRedis(
  options: readonly string[] = [],
  { tls = false } = {},
): Promise<RedisServer> {
  const folder = await temporaryFolder("redis");
  const [port] = await freePorts(1);
  const caFile = join(folder, "ca.crt");
  const listening = tls
    ? ["--port", "0", "--tls-port", `${port}`, ...certificate(folder)]
    : ["--port", `${port}`];
  const command = [
    redisProgram() as string,
    ...listening,
    "--bind",
    "127.0.0.1",
    "--dir",
    folder,
    "--requirepass",
    password,
    "--save",
    "",
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
    ...options,
  ];
  const address = `${tls ? "rediss" : "redis"}://:${password}@127.0.0.1:${port}/0`;
  let server: ServerProcess;
  const up = async () => {
    server = await new ServerProcess(command, folder, "redis").ready(() =>
      answers({ port, password, ...(tls && { tls: { rejectUnauthorized: false } }) }),
    );
  };
  await up();
  return {
    address,
    port,
    caFile,
    up,
    down: () => server.end(),
    kill: () => server.end("SIGKILL"),
    pause: () => server.signal("SIGSTOP"),
    resume: () => server.signal("SIGCONT"),
    async stop() {
      await server.end("SIGKILL");
      await deleteFolder(folder);
    },
  };
}

export async function answers(options: { port: number; password?: string; tls?: object }): Promise<boolean> {
  const client = new Redis({ ...options, lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.ping()) === "PONG";
  } finally {
    client.disconnect();
  }
}

function certificate(folder: string): string[] {
  makeAuthority(folder);
  makeCertificate(folder, "redis");
  return [
    "--tls-cert-file",
    join(folder, "redis.crt"),
    "--tls-key-file",
    join(folder, "redis.key"),
    "--tls-ca-cert-file",
    join(folder, "ca.crt"),
    "--tls-auth-clients",
    "no",
  ];
}
