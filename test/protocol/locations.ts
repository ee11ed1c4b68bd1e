/** The durable locations that the tests of the protocol run on: local disk, every server of the test run, the GCS emulator. */

import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { inject } from "vitest";
import { openLocation, type StorageLocation } from "../../src/storage/location.js";
import { startGcsEmulator } from "../gcs-emulator/emulator.js";
import { s3UnderTest } from "../servers/bucket.js";

export interface TestLocation {
  /** The options by which a process opens it. */
  readonly location: StorageLocation;
  /** Deletes all blobs. */
  empty(): Promise<void>;
}

const servers = inject("servers");

let made = 0;
const unique = () => `protocol_${process.pid}_${Date.now()}_${made++}`;

/** A place that nothing else uses, at each location. */
const preparations: Readonly<Record<string, () => Promise<TestLocation>>> = {
  async local() {
    const path = await mkdtemp(join(tmpdir(), "sealdex-protocol-"));
    return { location: { location: "local", path }, empty: () => rm(path, { recursive: true }) };
  },

  async redis() {
    return emptiedAfterwards({ location: "redis", connectionString: servers.redis, path: unique() });
  },

  async "redis cluster"() {
    const connectionString = servers["redis cluster"];
    return emptiedAfterwards({ location: "redis", connectionString, path: unique() });
  },

  async postgres() {
    const tableName = unique();
    return {
      location: { location: "postgres", connectionString: servers.postgres, tableName },
      async empty() {
        const pool = new Pool({ connectionString: servers.postgres });
        await pool.query(`DROP TABLE IF EXISTS "${tableName}"`);
        await pool.end();
      },
    };
  },

  async s3() {
    const server = await s3UnderTest();
    if (server === null) throw new Error("there is no S3 server");
    const { location, empty } = emptiedAfterwards(await server.newBucket("protocol"));
    return {
      location,
      empty: async () => {
        await empty();
        await server.stop();
      },
    };
  },

  async "gcs emulator"() {
    const [accessKey, secretKey] = ["GOOG1EMULATED", randomBytes(30).toString("base64")];
    const keys = new Map([[accessKey, secretKey]]);
    const emulator = await startGcsEmulator({ keys, buckets: new Map([["blobs", new Map()]]) });
    const { endpoint } = emulator;
    return {
      location: { location: "gcs", bucket: "blobs", endpoint, accessKey, secretKey },
      empty: () => emulator.stop(),
    };
  },
};

function emptiedAfterwards(location: StorageLocation): TestLocation {
  return {
    location,
    async empty() {
      const store = openLocation(location);
      await store.delete(await store.list(""));
      await store.close();
    },
  };
}

/** Names of the locations of this tier: all, or local disk alone; `SEALDEX_TEST_LOCATIONS=local,s3` leaves out others. */
export const locationNames: readonly string[] = chosen();

function chosen(): string[] {
  const asked = process.env.SEALDEX_TEST_LOCATIONS?.split(",");
  const there = inject("tier") === "fast" ? ["local"] : Object.keys(preparations);
  const absent = asked?.filter((name) => !there.includes(name)) ?? [];
  if (absent.length > 0) throw new Error(`SEALDEX_TEST_LOCATIONS: there is no ${absent.join(", ")}`);
  return asked ?? there;
}

/** An empty place at the location of that name. */
export function prepareLocation(name: string): Promise<TestLocation> {
  return preparations[name]();
}
