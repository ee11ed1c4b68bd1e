/** Buckets at the S3 server of the test run. */

import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { inject } from "vitest";
import type { S3ServiceLocation } from "../../src/storage/storage-location.js";
import { ceph } from "./ceph.js";

export interface S3UnderTest {
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** A client of the SDK's own, to look at what is there. */
  readonly client: S3Client;
  /** Makes a bucket and returns its location. */
  newBucket(
    name: string,
  ): Promise<S3ServiceLocation & { readonly accessKey: string; readonly secretKey: string }>;
  stop(): Promise<void>;
}

/** Null where the machine has no such server. */
export async function s3UnderTest(): Promise<S3UnderTest | null> {
  const address = inject("servers")[ceph.name];
  if (address !== undefined) {
    const { origin, username, password } = new URL(address);
    const keys = { accessKey: decodeURIComponent(username), secretKey: decodeURIComponent(password) };
    return withBuckets({ endpoint: origin, ...keys, stop: async () => {} });
  }
  return null;
}

export function withBuckets(server: {
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
  stop(): Promise<void>;
}): S3UnderTest {
  const { endpoint, accessKey, secretKey, stop } = server;
  const credentials = { accessKeyId: accessKey, secretAccessKey: secretKey };
  const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials });
  return {
    endpoint,
    accessKey,
    secretKey,
    client,
    async newBucket(name) {
      const bucket = `${name}-${process.pid}-${Date.now()}`;
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      return { location: "s3", bucket, endpoint, accessKey, secretKey };
    },
    async stop() {
      client.destroy();
      await stop();
    },
  };
}
