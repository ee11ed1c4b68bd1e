/** A Redis cluster of three masters. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { answers, redis, redisProgram } from "./redis.js";
import {
  deleteFolder,
  freePorts,
  type RestartableServer,
  ServerProcess,
  temporaryFolder,
  type TestServer,
} from "./test-server.js";

const slots = 16_384;
const nodes = 3;

export const redisCluster: TestServer = {
  name: "redis cluster",
  variable: "SEALDEX_TEST_REDIS_CLUSTER_URL",
  packages: redis.packages,
  isInstalled: () => redis.isInstalled(),
  start: () => startRedisCluster(),
};

export async function startRedisCluster(): Promise<RestartableServer> {
  const folder = await temporaryFolder("redis-cluster");
  const ports = await freePorts(2 * nodes);
  const program = redisProgram() as string;
  let servers: ServerProcess[] = [];

  async function startNode(n: number): Promise<ServerProcess> {
    const home = join(folder, `${n}`);
    await mkdir(home, { recursive: true });
    const command = [
      program,
      "--port",
      `${ports[n]}`,
      "--bind",
      "127.0.0.1",
      "--dir",
      home,
      "--save",
      "",

      "--cluster-enabled",
      "yes",
      "--cluster-port",
      `${ports[nodes + n]}`,
      "--cluster-node-timeout",
      "2000",
      "--appendonly",
      "yes",
      "--appendfsync",
      "always",
    ];
    return new ServerProcess(command, folder, `${n}`).ready(() => answers({ port: ports[n] }));
  }

  async function onEach(work: (client: Redis, n: number) => Promise<unknown>): Promise<void> {
    const clients = ports.slice(0, nodes).map((port) => new Redis(port));
    try {
      await Promise.all(clients.map(work));
    } finally {
      for (const client of clients) client.disconnect();
    }
  }

  async function up(): Promise<void> {
    servers = await Promise.all(Array.from({ length: nodes }, (_, n) => startNode(n)));
  }

  await up();
  // Each node gets a third of the slots; then the others meet the first, and hear of one another.
  await onEach(async (client, n) => {
    const [from, to] = [n, n + 1].map((i) => Math.floor((i * slots) / nodes));
    await client.call("CLUSTER", "ADDSLOTSRANGE", from, to - 1);
    await client.call("CLUSTER", "SET-CONFIG-EPOCH", n + 1);
  });
  await onEach(async (client, n) => {
    if (n > 0) await client.call("CLUSTER", "MEET", "127.0.0.1", ports[0], ports[nodes]);
  });
  await onEach(untilWhole);

  const all = async (work: (server: ServerProcess) => Promise<void>) => {
    await Promise.all(servers.map(work));
  };
  return {
    address: `redis://${ports
      .slice(0, nodes)
      .map((port) => `127.0.0.1:${port}`)
      .join(",")}`,
    async up() {
      await up();
      await onEach(untilWhole);
    },
    down: () => all((server) => server.end()),
    kill: () => all((server) => server.end("SIGKILL")),
    pause: () => all((server) => server.signal("SIGSTOP")),
    resume: () => all((server) => server.signal("SIGCONT")),
    async stop() {
      await all((server) => server.end("SIGKILL"));
      await deleteFolder(folder);
    },
  };
}

async function untilWhole(client: Redis): Promise<void> {
  for (;;) {
    const info = await client.cluster("INFO");
    if (info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${nodes}`)) return;
    await sleep(20);
  }
}
