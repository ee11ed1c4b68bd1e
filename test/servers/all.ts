/** Every server that tests can use. */

import { ceph } from "./ceph.js";
import { postgres } from "./postgres.js";
import { redis } from "./redis.js";
import { redisCluster } from "./redis-cluster.js";
import type { TestServer } from "./test-server.js";

export const testServers: readonly TestServer[] = [redis, redisCluster, postgres, ceph];
