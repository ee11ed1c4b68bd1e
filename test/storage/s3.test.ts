/** S3 on a real server; what it does without one is in object-store.test.ts. */

import { afterAll, beforeAll, describe, test } from "vitest";
import { storageConformance } from "../../src/storage/conformance.js";
import { openLocation, type StorageLocation } from "../../src/storage/location.js";
import { s3UnderTest } from "../servers/bucket.js";
import { LocationPeer } from "./location-peer.js";

const server = await s3UnderTest();
afterAll(() => server?.stop());

describe.skipIf(server === null)("s3", () => {
  let location: StorageLocation & { bucket: string };
  let made = 0;
  const newPath = () => `p${made++}/of.tests`;
  beforeAll(async () => {
    location = await server!.newBucket("storage");
  });

  describe("conforms", () => {
    storageConformance({
      test,
      factory: async () => {
        const here = { ...location, path: newPath() };
        let peer: LocationPeer | undefined;
        return {
          open: async () => openLocation(here),
          createElsewhere: (key, contents) => (peer ??= new LocationPeer(here)).create(key, contents),
          destroy: async () => peer?.kill(),
        };
      },
    });
  });
});
