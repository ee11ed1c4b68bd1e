/**
 * The storage of the new index, as `sealdex-server` takes it. It may hold a password, so no message
 * repeats it.
 *
 *     file:./data    redis://…    rediss://…    postgres://…
 *     s3://bucket/prefix?region=…&endpoint=…    gs://bucket/prefix
 *     {"location":"s3","bucket":"…","accessKey":"…","secretKey":"…"}
 *
 * Buckets take `accessKey:secretKey@` before their name, percent-encoded.
 */

import { fileURLToPath } from "node:url";
import type { StorageLocation } from "sealdex/core";
import { invalid } from "./source.js";

export function parseLocation(text: string): StorageLocation {
  let location: StorageLocation | undefined;
  try {
    // The library checks the fields.
    location = text.startsWith("{") ? (JSON.parse(text) as StorageLocation) : parseUrl(text);
  } catch {
    // The error may quote the text.
  }
  if (location !== undefined) return location;
  throw invalid(
    "--to: expected file:…, redis://…, postgres://…, s3://…, gs://…, JSON with a location, or the http(s):// URL of a service",
  );
}

function parseUrl(text: string): StorageLocation | undefined {
  if (text.startsWith("file://")) return { location: "local", path: fileURLToPath(text) };
  if (text.startsWith("file:")) return { location: "local", path: text.slice("file:".length) };
  if (/^rediss?:\/\//.test(text)) return { location: "redis", connectionString: text };
  const url = new URL(text);
  switch (url.protocol) {
    case "postgres:":
    case "postgresql:": {
      const tableName = url.searchParams.get("tableName");
      url.searchParams.delete("tableName");
      return {
        location: "postgres",
        connectionString: url.href,
        ...(tableName !== null && { tableName }),
      };
    }
    case "s3:":
      return { location: "s3", ...bucketOf(url) };
    case "gs:":
      // The library refuses a bucket of Google without keys.
      return { location: "gcs", accessKey: undefined, secretKey: undefined, ...bucketOf(url) };
    default:
      return undefined;
  }
}

function bucketOf(url: URL) {
  const { region, endpoint, ...others } = Object.fromEntries(url.searchParams);
  if (Object.keys(others).length > 0) throw invalid("--to: unknown parameters");
  const path = decodeURIComponent(url.pathname.slice(1));
  return {
    bucket: url.hostname,
    ...(path !== "" && { path }),
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
    ...(url.username !== "" && {
      accessKey: decodeURIComponent(url.username),
      secretKey: decodeURIComponent(url.password),
    }),
  };
}
