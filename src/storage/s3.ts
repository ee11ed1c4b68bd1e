/**
 * Blobs as objects of an S3 bucket, at AWS or at any service that honors `If-None-Match: *` on
 * writes.
 *
 * Uses `@aws-sdk/client-s3`, which is loaded at the first request. Bodies are sent from memory and
 * signed with their own hash, so that services need not support streams in signed chunks.
 */

import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { addAbortSignal, pipeline, type Readable, Transform } from "node:stream";
import type * as Sdk from "@aws-sdk/client-s3";
import { checkPeer, peerFailure, type PeerPackage } from "../checks/peer-package.js";
import { isError } from "../checks/value-kinds.js";
import { SealdexError } from "../errors.js";
import type { BlobStore } from "./blob-store.js";
import type { BucketLocation } from "./bucket-location.js";
import { codeFrom, ServiceError } from "./failure.js";
import {
  createObjectStore,
  type ObjectService,
  rangeHeader,
  readPart,
  requestsMax,
  type Signal,
} from "./object-store.js";
import { payloadHash } from "./payload-hash.js";

/** An `S3Client` of `@aws-sdk/client-s3`: the members that distinguish it from other values. */
export interface S3ClientLike {
  send(command: never): Promise<unknown>;
  destroy(): void;
}

/** Metadata field of the object with the token of its create. */
const tokenField = "sealdex-create";
const connectMsMax = 10_000;
const silenceMsMax = 60_000;
/** Limit of lists and errors, which the client reads whole; a list of 1,000 names is shorter. */
const textBytesMax = 4 * 1024 * 1024;
/** For services that ignore the region; AWS always gets the right one. */
const regionDefault = "us-east-1";

/**
 * `client`: the caller's own, used as configured and not closed; `location` then only names the
 * bucket.
 */
export function createS3Store(location: BucketLocation, client?: S3ClientLike): BlobStore {
  const { bucket } = location;
  if (bucket.endsWith("--x-s3")) {
    throw new SealdexError(
      "not_supported",
      "storage location s3: expected a general purpose bucket; a directory bucket does not list in order",
    );
  }
  let opened: Promise<{ sdk: typeof Sdk; s3: Sdk.S3Client }> | undefined;

  async function open(): Promise<{ sdk: typeof Sdk; s3: Sdk.S3Client }> {
    const sdk = await loadSdk();
    return { sdk, s3: (client as Sdk.S3Client | undefined) ?? newClient(sdk, location) };
  }

  /** Returns the result, or an expected error. Throws any other error as a ServiceError. */
  async function request<T>(
    signal: Signal,
    send: (sdk: typeof Sdk, s3: Sdk.S3Client, options: { readonly abortSignal?: AbortSignal }) => Promise<T>,
    isExpected: (error: ServiceError) => boolean,
  ): Promise<T | ServiceError> {
    try {
      const { sdk, s3 } = await (opened ??= open());
      return await send(sdk, s3, signal === undefined ? {} : { abortSignal: signal });
    } catch (error) {
      if (error instanceof SealdexError) throw error;
      const failure = error instanceof ServiceError ? error : describe(error);
      if (isExpected(failure)) return failure;
      throw failure;
    }
  }

  const service: ObjectService = {
    title: "s3 storage",

    async get(name, range, signal) {
      const answer = await request(
        signal,
        async (sdk, s3, options) => {
          const { Body, ContentRange, ContentLength } = await s3.send(
            bounded(
              new sdk.GetObjectCommand({ Bucket: bucket, Key: name, Range: rangeHeader(range) }),
              "object",
            ),
            options,
          );
          // The client drops the signal when the body begins.
          if (signal !== undefined) addAbortSignal(signal, Body as Readable);
          return readPart(Body as unknown as AsyncIterable<Uint8Array>, range, {
            length: ContentLength,
            range: ContentRange,
          });
        },
        ({ code, status }) => code === "NoSuchKey" || status === 416,
      );
      if (!(answer instanceof ServiceError)) return answer;
      return answer.code === "NoSuchKey" ? null : new Uint8Array(0);
    },

    async tokenOf(name, signal) {
      const answer = await request(
        signal,
        (sdk, s3, options) =>
          s3.send(bounded(new sdk.HeadObjectCommand({ Bucket: bucket, Key: name })), options),
        ({ status }) => status === 404,
      );
      return answer instanceof ServiceError ? null : answer.Metadata?.[tokenField];
    },

    async put(name, bytes, token, signal) {
      const hash = await payloadHash(bytes);
      const answer = await request(
        signal,
        (sdk, s3, options) => {
          const command = new sdk.PutObjectCommand({
            Bucket: bucket,
            Key: name,
            Body: bytes,
            ContentLength: bytes.length,
            ContentType: "application/octet-stream",
            IfNoneMatch: "*",
            Metadata: { [tokenField]: token },
          });
          // The client would hash the whole body in one turn of the event loop.
          command.middlewareStack.add(
            (next) => (step) => {
              const { headers } = step.request as { headers: Record<string, string> };
              headers["x-amz-content-sha256"] = hash;
              return next(step);
            },
            { step: "build", name: "sealdexPayloadHash" },
          );
          return s3.send(bounded(command), options);
        },
        ({ status }) => status === 412 || status === 409 || status === 501,
      );
      if (!(answer instanceof ServiceError)) return "created";
      if (answer.status !== 501) return answer.status === 412 ? "taken" : "conflict";
      throw new SealdexError(
        "not_supported",
        "s3 storage: expected a service that honors If-None-Match on writes, so that exactly one of two creates wins; " +
          "this one does not implement it",
      );
    },

    async list(prefix, after, limit, signal) {
      const answer = await request(
        signal,
        (sdk, s3, options) =>
          s3.send(
            bounded(
              new sdk.ListObjectsV2Command({
                Bucket: bucket,
                Prefix: prefix,
                MaxKeys: limit,
                ...(after !== "" && { StartAfter: after }),
              }),
            ),
            options,
          ),
        () => false,
      );
      if (answer instanceof ServiceError) throw answer;
      // The client takes any other text for an empty list.
      if (answer.Contents === undefined && answer.Name === undefined && answer.IsTruncated === undefined)
        throw new ServiceError({ reason: "a list that cannot be read", isRefusal: true });
      const names = (answer.Contents ?? []).map(({ Key }) => Key ?? "");
      return { names, isTruncated: answer.IsTruncated === true };
    },

    async remove(name, signal) {
      await request(
        signal,
        (sdk, s3, options) =>
          s3.send(bounded(new sdk.DeleteObjectCommand({ Bucket: bucket, Key: name })), options),
        ({ code }) => code === "NoSuchKey",
      );
    },

    async close() {
      if (client === undefined)
        await opened?.then(
          ({ s3 }) => s3.destroy(),
          () => undefined,
        );
    },
  };
  return createObjectStore(service, location.path);
}

const sdkPackage: PeerPackage = {
  name: "@aws-sdk/client-s3",
  range: "^3.700.0",
  feature: "storage location s3",
  exports: ["S3Client", "GetObjectCommand", "PutObjectCommand"],
};

async function loadSdk(): Promise<typeof Sdk> {
  try {
    return checkPeer(await import("@aws-sdk/client-s3"), sdkPackage);
  } catch (cause) {
    throw peerFailure(cause, sdkPackage);
  }
}

function newClient(sdk: typeof Sdk, { region, endpoint, credentials }: BucketLocation): Sdk.S3Client {
  const sockets = { keepAlive: true, maxSockets: requestsMax };
  return new sdk.S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true, region: regionDefault }),
    ...(region !== undefined && { region }),
    ...(credentials && {
      credentials: { accessKeyId: credentials.accessKey, secretAccessKey: credentials.secretKey },
    }),
    // The body's hash is signed; some services do not understand the newer checksums.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    // object-store.ts decides on retries.
    maxAttempts: 1,
    requestHandler: {
      httpAgent: new HttpAgent(sockets),
      httpsAgent: new HttpsAgent(sockets),
      connectionTimeout: connectMsMax,
      socketTimeout: silenceMsMax,
    },
  });
}

interface Sent {
  readonly response: { readonly statusCode: number; body: Readable };
}

/** Limits the text that the client reads of a command's response. `readPart` limits objects. */
function bounded<C extends { readonly middlewareStack: object }>(
  command: C,
  answer: "object" | "text" = "text",
): C {
  const { middlewareStack } = command as Pick<Sdk.GetObjectCommand, "middlewareStack">;
  middlewareStack.add(
    (next) => async (step) => {
      const result = await next(step);
      const { response } = result as Sent;
      const isObject = answer === "object" && response.statusCode < 300;
      if (!isObject) response.body = cutOff(response.body);
      return result;
    },
    // The first step on the response: nothing has read the body yet.
    { step: "deserialize", name: "sealdexTextBytesMax", priority: "low" },
  );
  return command;
}

function cutOff(body: Readable): Readable {
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Uint8Array, _, done) {
      bytes += chunk.length;
      if (bytes > textBytesMax) done(new ServiceError({ reason: "a response that is too long" }));
      else done(null, chunk);
    },
  });
  return pipeline(body, limit, () => undefined);
}

/** Reduces a client error to its code and status. */
function describe(error: unknown): ServiceError {
  if (!isError(error)) return new ServiceError({ reason: "an unexpected error" });
  const { name, message, code, Code, $metadata } = error as Error & {
    readonly code?: unknown;
    readonly Code?: unknown;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  if (message === "Region is missing") return new ServiceError({ reason: "NoRegion", isRefusal: true });
  const reason = codeFrom(String((status === undefined ? code : Code) ?? name), error);
  // The client has read the service's clock by now.
  const isRefusal =
    reason === "RequestTimeTooSkewed" ? false : name === "CredentialsProviderError" || undefined;
  return new ServiceError({
    reason,
    ...(status !== undefined && { status }),
    ...(isRefusal !== undefined && { isRefusal }),
  });
}
