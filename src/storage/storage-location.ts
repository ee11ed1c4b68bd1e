/** Storage locations as callers name them, one kind per place. docs/storage.md explains them. */

import { optionNames } from "../option-names.js";
import type { PostgresPool } from "./postgres.js";
import type { RedisClient } from "./redis-connection.js";
import type { S3ClientLike } from "./s3.js";

/** Forgets everything when the process ends. */
export interface MemoryLocation {
  readonly location: "memory";
}

/** A folder of the file system. */
export interface LocalLocation {
  readonly location: "local";
  /** The folder, made if absent; relative to the working directory. */
  readonly path: string;
}

/**
 * A connection string, with credentials, which is never printed; or a client that the caller has already, used as it is
 * configured, and left open. An unset variable as the connection string is `invalid_request`.
 */
type Connection<Client> =
  | { readonly connectionString: string | undefined; readonly client?: never }
  | { readonly client: Client; readonly connectionString?: never };

interface RedisFields {
  readonly location: "redis";
  /** What all keys begin with. Default `sealdex`. */
  readonly path?: string;
  /** Uses a server that may delete what it holds when its memory is full. Default false. */
  readonly allowEviction?: boolean;
}

/** A Redis server or cluster. `client`: ioredis's `Redis` or `Cluster`. */
export type RedisLocation = RedisFields & Connection<RedisClient>;

interface PostgresFields {
  readonly location: "postgres";
  /** The table that holds the blobs, or `schema.table`; made if absent. Default `sealdex`. */
  readonly tableName?: string;
}

/** A table of a PostgreSQL database. `client`: pg's `Pool`. */
export type PostgresLocation = PostgresFields & Connection<PostgresPool>;

interface BucketFields {
  readonly bucket: string;
  /** What the names of objects begin with, for several stores in one bucket. Default: nothing. */
  readonly path?: string;
}

/** How to reach an S3 service. */
interface S3Access {
  /** With `secretKey`. Default: what the AWS SDK finds in the environment, in its files or on the machine. Never printed. */
  readonly accessKey?: string | undefined;
  /** Never printed. */
  readonly secretKey?: string | undefined;
  /** Default: what the AWS SDK finds, or "us-east-1" if there is an endpoint. */
  readonly region?: string | undefined;
  /** The URL of another service than AWS, such as "https://minio.example:9000". */
  readonly endpoint?: string | undefined;
  readonly client?: never;
}

/** An `S3Client` of `@aws-sdk/client-s3` that the caller has and closes, in place of region, endpoint and keys. */
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
  /** The access id of an HMAC key. Never printed. An unset variable is `invalid_request`, for `secretKey` too. */
  readonly accessKey: string | undefined;
  /** Never printed. */
  readonly secretKey: string | undefined;
  /** Default "auto". */
  readonly region?: string | undefined;
  /** The URL of another service than Google. */
  readonly endpoint?: string | undefined;
}

/** Where blobs are kept. The fields are the specification's, and `client` and `allowEviction`. */
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

/** The fields that each kind of location takes. */
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
