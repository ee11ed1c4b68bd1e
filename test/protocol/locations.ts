/**
 * The durable locations that the tests of the protocol run on: a local folder, and those that the environment names, for
 * example `SEALDEX_TEST_LOCATIONS='{"redis": {"location": "redis", "connectionString": "redis://…"}}'`. Each is emptied.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocation, type StorageLocation } from "../../src/storage/location.js";

export interface TestLocation {
  /** What a process needs to open it. */
  readonly location: StorageLocation;
  /** Deletes what is there. */
  empty(): Promise<void>;
}

const given = JSON.parse(process.env.SEALDEX_TEST_LOCATIONS ?? "{}") as Record<string, StorageLocation>;

/** Names of the locations there are. */
export const locationNames: readonly string[] = ["local", ...Object.keys(given)];

/** An empty location of its own, where that is a folder; else the one there is, emptied. */
export async function prepareLocation(name: string): Promise<TestLocation> {
  if (name === "local") {
    const path = await mkdtemp(join(tmpdir(), "sealdex-protocol-"));
    return { location: { location: "local", path }, empty: () => rm(path, { recursive: true }) };
  }
  const location = given[name];
  const empty = async () => {
    const store = openLocation(location, 60_000);
    await store.delete(await store.list(""));
    await store.close();
  };
  await empty();
  return { location, empty };
}
