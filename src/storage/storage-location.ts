/** Storage locations, one type per kind. docs/storage.md explains them. */

import { optionNames } from "../checks/option-names.js";
import type { PostgresPool } from "./postgres.js";
import type { RedisClient } from "./redis-connection.js";
import type { S3ClientLike } from "./s3.js";

/** Data are lost when the process ends. */
export interface MemoryLocation {
  readonly location: "memory";
}

/** A folder of the file system. */
export interface LocalLocation {
  readonly location: "local";
  /** The folder, created if absent; relative to the working directory. */
  readonly path: string;
}

/**
 * Either a connection string with credentials, which is never printed, or the caller's client,
 * which is used as configured and left open. An undefined connection string is `invalid_request`.
 */
type Connection<Client> =
  | { readonly connectionString: string | undefined; readonly client?: never }
  | { readonly client: Client; readonly connectionString?: never };

interface RedisFields {
  readonly location: "redis";
  /** Prefix of all keys. Default `sealdex`. */
  readonly path?: string;
  /** Accepts a server that may evict data when its memory is full. Default false. */
  readonly allowEviction?: boolean;
}

/** A Redis server or cluster. `client`: ioredis's `Redis` or `Cluster`. */
export type RedisLocation = RedisFields & Connection<RedisClient>;

interface PostgresFields {
  readonly location: "postgres";
  /** The table of the blobs, or `schema.table`; created if absent. Default `sealdex`. */
  readonly tableName?: string;
}

/** A table of a PostgreSQL database. `client`: pg's `Pool`. */
export type PostgresLocation = PostgresFields & Connection<PostgresPool>;

interface BucketFields {
  readonly bucket: string;
  /** Prefix of object names, for several stores in one bucket. Default: none. */
  readonly path?: string;
}

/** How to reach an S3 service. */
interface S3Access {
  /** Requires `secretKey`. Default: the AWS SDK's credential chain. Never printed. */
  readonly accessKey?: string | undefined;
  /** Never printed. */
  readonly secretKey?: string | undefined;
  /** Default: the AWS SDK's, or "us-east-1" with an endpoint. */
  readonly region?: string | undefined;
  /** URL of another service than AWS, for example "https://minio.example:9000". */
  readonly endpoint?: string | undefined;
  readonly client?: never;
}

/**
 * The caller's `S3Client` of `@aws-sdk/client-s3`, which the caller closes; replaces region,
 * endpoint and keys.
 */
interface S3OwnClient {
  readonly client: S3ClientLike;
  readonly accessKey?: never;
  readonly secretKey?: never;
  readonly region?: never;
  readonly endpoint?: never;
}

interface S3Bucket extends BucketFields {
  readonly location: "s3";
}

/** A bucket of Amazon S3 or a compatible service, by its address. */
export type S3ServiceLocation = S3Bucket & S3Access;

/** A bucket of Amazon S3 or a compatible service. */
export type S3Location = S3ServiceLocation | (S3Bucket & S3OwnClient);

/** A bucket of Google Cloud Storage. */
export interface GcsLocation extends BucketFields {
  readonly location: "gcs";
  /**
   * Access id of an HMAC key. Never printed. Undefined is `invalid_request`, also for `secretKey`.
   */
  readonly accessKey: string | undefined;
  /** Never printed. */
  readonly secretKey: string | undefined;
  /** Default "auto". */
  readonly region?: string | undefined;
  /** URL of another service than Google. */
  readonly endpoint?: string | undefined;
}

/** A storage location. The fields are the specification's, plus `client` and `allowEviction`. */
export type StorageLocation =
  | MemoryLocation
  | LocalLocation
  | RedisLocation
  | PostgresLocation
  | S3Location
  | GcsLocation;

const bucket = {
  location: true,
  bucket: true,
  path: true,
  accessKey: true,
  secretKey: true,
  region: true,
  endpoint: true,
} as const;
const connection = { location: true, connectionString: true, client: true } as const;

/** The fields of each kind of location. */
export const locationFields = {
  memory: optionNames<MemoryLocation>("storage location memory", { location: true }),
  local: optionNames<LocalLocation>("storage location local", { location: true, path: true }),
  redis: optionNames<RedisLocation>("storage location redis", {
    ...connection,
    path: true,
    allowEviction: true,
  }),
  postgres: optionNames<PostgresLocation>("storage location postgres", { ...connection, tableName: true }),
  s3: optionNames<S3Location>("storage location s3", { ...bucket, client: true }),
  gcs: optionNames<GcsLocation>("storage location gcs", bucket),
};
