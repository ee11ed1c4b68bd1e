/** Each server is killed and started again in the middle of a mixed load: nothing is lost, no answer is wrong, and all calls continue. */

import { randomBytes } from "node:crypto";
import { describe, inject, test } from "vitest";
import type { StorageLocation } from "../../src/storage/location.js";
import { startGcsEmulator } from "../gcs-emulator/emulator.js";
import { withBuckets } from "../servers/bucket.js";
import { ceph, startCeph } from "../servers/ceph.js";
import { postgres, startPostgres } from "../servers/postgres.js";
import { startRedisCluster } from "../servers/redis-cluster.js";
import { redis, startRedis } from "../servers/redis.js";
import type { RestartableServer } from "../servers/test-server.js";
import { canStart } from "../tier.js";
import { mixedLoad } from "./mixed-load.js";

/** How long a server stays away. */
const downMs = 300;

interface Restartable {
  readonly location: StorageLocation;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const away = () => new Promise<void>((resolve) => setTimeout(resolve, downMs));

function killed(server: RestartableServer, location: StorageLocation): Restartable {
  return {
    location,
    async restart() {
      await server.kill();
      await away();
      await server.up();
    },
    stop: () => server.stop(),
  };
}

const servers: Readonly<
  Record<string, { readonly isThere: boolean; readonly start: () => Promise<Restartable> }>
> = {
  redis: {
    isThere: canStart(redis),
    async start() {
      const server = await startRedis();
      return killed(server, { location: "redis", connectionString: server.address });
    },
  },
  "redis cluster": {
    isThere: canStart(redis),
    async start() {
      const server = await startRedisCluster();
      return killed(server, { location: "redis", connectionString: server.address });
    },
  },
  postgres: {
    isThere: canStart(postgres),
    async start() {
      const server = await startPostgres();
      return killed(server, { location: "postgres", connectionString: server.address });
    },
  },
  s3: {
    isThere: canStart(ceph),
    async start() {
      const server = await startCeph({ durable: true });
      if (server === null) throw new Error("Ceph is not installed");
      const { newBucket, stop } = withBuckets(server);
      return { location: await newBucket("restart"), restart: () => server.restart(away), stop };
    },
  },
  "gcs emulator": {
    isThere: inject("tier") === "all",
    async start() {
      const [accessKey, secretKey] = ["GOOG1EMULATED", randomBytes(30).toString("base64")];
      const [keys, buckets] = [new Map([[accessKey, secretKey]]), new Map([["blobs", new Map()]])];
      let emulator = await startGcsEmulator({ keys, buckets });
      const { endpoint, port } = emulator;
      return {
        location: { location: "gcs", bucket: "blobs", endpoint, accessKey, secretKey },
        async restart() {
          await emulator.stop();
          await away();
          emulator = await startGcsEmulator({ port, keys, buckets });
        },
        stop: () => emulator.stop(),
      };
    },
  },
};

describe.each(Object.entries(servers))("%s", (name, { isThere, start }) => {
  test(
    "killed in the middle of a mixed load, it comes back to everything that was acknowledged",
    { skip: !isThere },
    async () => {
      const { location, restart, stop } = await start();
      try {
        const { acknowledged, reads, failed } = await mixedLoad(location, restart);
        process.stdout.write(
          `${name} killed: ${acknowledged} batches acknowledged, 0 lost; ${reads} reads, ${failed} calls failed\n`,
        );
      } finally {
        await stop();
      }
    },
  );
});
