/** The files that an ingest reads: of a folder or a pattern, on a local disk or in a bucket of S3. */

import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, normalize, sep } from "node:path";
import { SealdexError, type StorageLocation } from "sealdex/core";
import { invalid, type PeerPackage } from "sealdex/wire";
import { readLocation } from "../settings/location.js";
import { loadPackage } from "./load-package.js";

export interface InputFile {
  readonly name: string;
  readonly bytes: number;
  /** The bytes of a range, in pieces. Throws `storage_unavailable`. */
  stream(start: number, end: number): AsyncIterable<Uint8Array>;
}

export interface Input {
  /** In an order that repeats. */
  readonly files: readonly InputFile[];
  close(): void;
}

type S3Location = Extract<StorageLocation, { readonly location: "s3" }>;
/** Opens a range of a file. */
type Read = (start: number, end: number) => Promise<AsyncIterable<Uint8Array>>;

const isFormat = (name: string) => /\.(?:jsonl|ndjson)(?:\.gz)?$|\.parquet$/.test(name);

/**
 * The files of `from` that have a known ending: a path, or `s3://bucket/path?region=…&endpoint=…`; of
 * a file, a folder with those in it, or a pattern, in which `*` is anything but a slash. Throws
 * `invalid_request` if there are none, and `storage_unavailable`.
 */
export async function openInput(from: string): Promise<Input> {
  const location = parseInput(from);
  const input = await (location.location === "s3" ? openBucket(location) : openFolder(location.path));
  const files = input.files.filter(({ bytes }) => bytes > 0);
  if (files.length === 0) {
    input.close();
    throw invalid("--from: expected .jsonl, .ndjson, .jsonl.gz, .ndjson.gz or .parquet files, found none");
  }
  return { ...input, files: files.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** Throws `invalid_request`. */
export function parseInput(from: string): S3Location | { readonly location: "local"; readonly path: string } {
  const location: StorageLocation = /^[a-z0-9]{2,}:/.test(from)
    ? readLocation(from, "--from")
    : { location: "local", path: from };
  if (location.location === "s3" || location.location === "local") return location;
  throw invalid("--from: expected a path or s3://…");
}

async function openFolder(path: string): Promise<Input> {
  const { base, isMatch } = patternOf(withSlashes(path));
  const root = base === "" ? "." : base;
  try {
    const found = (await stat(root)).isFile()
      ? [root]
      : (await readdir(root, { recursive: true })).map((name) => withSlashes(join(root, name)));
    const files = found.filter(isMatch).map(async (name) => {
      // Follows links, which mounted files often are.
      const status = await stat(name);
      const read: Read = async (start, end) => createReadStream(name, { start, end: end - 1 });
      return inputFile(name, status.isFile() ? status.size : 0, read);
    });
    return { files: await Promise.all(files), close: () => undefined };
  } catch (cause) {
    throw unreadable("--from", cause);
  }
}

function withSlashes(path: string): string {
  return normalize(path).split(sep).join("/");
}

const sdkPackage: PeerPackage = {
  name: "@aws-sdk/client-s3",
  range: "^3.700.0",
  feature: "--from s3://…",
  exports: ["S3Client", "GetObjectCommand", "ListObjectsV2Command"],
};

async function openBucket(location: S3Location): Promise<Input> {
  const { bucket, path = "", region, endpoint, accessKey, secretKey } = location;
  const sdk = await loadPackage(() => import("@aws-sdk/client-s3"), sdkPackage);
  const s3 = new sdk.S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true, region: "us-east-1" }),
    ...(region !== undefined && { region }),
    ...(accessKey !== undefined && {
      credentials: { accessKeyId: accessKey, secretAccessKey: secretKey ?? "" },
    }),
  });
  const { base, isMatch } = patternOf(path);
  const files: InputFile[] = [];
  try {
    const pages = sdk.paginateListObjectsV2({ client: s3 }, { Bucket: bucket, Prefix: base });
    for await (const { Contents = [] } of pages) {
      for (const { Key = "", Size = 0 } of Contents) {
        if (!isMatch(Key)) continue;
        const read: Read = async (start, end) => {
          const range = { Bucket: bucket, Key, Range: `bytes=${start}-${end - 1}` };
          const { Body } = await s3.send(new sdk.GetObjectCommand(range));
          return Body as unknown as AsyncIterable<Uint8Array>;
        };
        files.push(inputFile(Key, Size, read));
      }
    }
  } catch (cause) {
    s3.destroy();
    throw unreadable("--from", cause);
  }
  return { files, close: () => s3.destroy() };
}

function inputFile(name: string, bytes: number, read: Read): InputFile {
  return {
    name,
    bytes,
    async *stream(start, end) {
      try {
        yield* await read(start, end);
      } catch (cause) {
        throw unreadable(name, cause);
      }
    },
  };
}

function unreadable(what: string, cause: unknown): SealdexError {
  const { code, name, message } = cause as Error & { readonly code?: string };
  // The SDK has no code for a missing region.
  const reason = code ?? (name === "Error" ? message : name);
  return new SealdexError("storage_unavailable", `${what}: it cannot be read (${reason})`, { cause });
}

/** `base`: the beginning of all names that match. */
function patternOf(path: string): { readonly base: string; isMatch(name: string): boolean } {
  const star = path.indexOf("*");
  if (star < 0) {
    const base = path.replace(/\/$/, "");
    const isWithin = (name: string) => base === "" || base === "." || name.startsWith(`${base}/`);
    return { base, isMatch: (name) => isFormat(name) && (name === base || isWithin(name)) };
  }
  const parts = path.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`^${parts.join("[^/]*")}$`);
  const base = path.slice(0, path.lastIndexOf("/", star) + 1);
  return { base, isMatch: (name) => isFormat(name) && pattern.test(name) };
}
