/**
 * Storage locations as text: a URL, or JSON with the library's fields.
 *
 *     memory:
 *     file:./data                               file:///var/lib/sealdex
 *     redis://user:password@host:6379/0         rediss://…, and host1:7001,host2:7002 for a cluster;
 *                                               ?path=…&allowEviction=true
 *     postgres://user:password@host/database?tableName=sealdex
 *     s3://bucket/prefix?region=…&endpoint=…    gs://bucket/prefix?endpoint=…
 *     {"location":"s3","bucket":"…","accessKey":"…","secretKey":"…"}
 *
 * Buckets take `accessKey:secretKey@` before their name, percent-encoded.
 */

import { fileURLToPath } from "node:url";
import type { StorageLocation } from "./storage-location.js";

const locations = ["redis", "postgres", "memory", "s3", "gcs", "local"];
const fields = [
  "location",
  "tableName",
  "connectionString",
  "bucket",
  "accessKey",
  "secretKey",
  "region",
  "endpoint",
  "path",
  "allowEviction",
];

/** For messages: the texts that are locations. */
export const locationForms = `file:…, memory:, redis://…, postgres://…, s3://…, gs://…, with credentials percent-encoded, or JSON with a location (${locations.join(", ")})`;

/** Undefined if it is none. A location may contain secrets, so no message may repeat the text. */
export function parseLocation(text: string): StorageLocation | undefined {
  try {
    return text.startsWith("{") ? parseJson(text) : parseUrl(text);
  } catch {
    // Invalid JSON, percent-encoding or file URL; the error may quote the text, so it is not kept
    // as a cause.
    return undefined;
  }
}

/** Accepts the library's names, and the same with underscores, as over HTTP. */
function parseJson(text: string): StorageLocation | undefined {
  const entries = Object.entries(JSON.parse(text) as Record<string, unknown>).map(
    ([name, value]) =>
      [name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()), value] as const,
  );
  const isField = ([name, value]: readonly [string, unknown]) =>
    fields.includes(name) && (name === "allowEviction" ? isSwitch(value) : typeof value === "string");
  if (!entries.every(isField)) return undefined;
  const location = Object.fromEntries(entries) as Record<string, unknown>;
  if ("allowEviction" in location) location.allowEviction = String(location.allowEviction) === "true";
  return locations.includes(location.location as string)
    ? (location as unknown as StorageLocation)
    : undefined;
}

/** Also as text, since all values of a file of settings are texts. */
function isSwitch(value: unknown): boolean {
  return typeof value === "boolean" || value === "true" || value === "false";
}

function parseUrl(text: string): StorageLocation | undefined {
  if (text === "memory:") return { location: "memory" };
  if (text.startsWith("file:")) return parseFile(text);
  if (/^rediss?:/.test(text)) return parseRedis(text);
  const url = new URL(text);
  switch (url.protocol) {
    case "postgres:":
    case "postgresql:": {
      const tableName = url.searchParams.get("tableName");
      if (tableName === null) return { location: "postgres", connectionString: text };
      url.searchParams.delete("tableName");
      return { location: "postgres", connectionString: url.href, tableName };
    }
    case "s3:":
      return parseBucket("s3", url);
    case "gs:":
      return parseBucket("gcs", url);
    default:
      return undefined;
  }
}

/** Several nodes of a cluster make it no URL by the standard. */
function parseRedis(text: string): StorageLocation | undefined {
  const [connectionString, query = ""] = text.split(/\?(.*)/s);
  const options = new URLSearchParams(query);
  const path = options.get("path");
  const allowEviction = options.get("allowEviction");
  options.delete("path");
  options.delete("allowEviction");
  if (options.size > 0 || !["true", "false", null].includes(allowEviction)) return undefined;
  return {
    location: "redis",
    connectionString,
    ...(path !== null && { path }),
    ...(allowEviction !== null && { allowEviction: allowEviction === "true" }),
  };
}

/** Relative to the working directory. */
function parseFile(text: string): StorageLocation | undefined {
  if (text.startsWith("file://")) return { location: "local", path: fileURLToPath(text) };
  const path = text.slice("file:".length);
  return path === "" ? undefined : { location: "local", path };
}

function parseBucket(location: "s3" | "gcs", url: URL): StorageLocation | undefined {
  const path = decodeURIComponent(url.pathname.replace(/^\//, ""));
  const region = url.searchParams.get("region");
  const endpoint = url.searchParams.get("endpoint");
  const isKnown = [...url.searchParams.keys()].every((name) => name === "region" || name === "endpoint");
  if (url.hostname === "" || !isKnown) return undefined;
  const bucket = {
    bucket: url.hostname,
    ...(path !== "" && { path }),
    ...(region !== null && { region }),
    ...(endpoint !== null && { endpoint }),
    ...(url.username !== "" && {
      accessKey: decodeURIComponent(url.username),
      secretKey: decodeURIComponent(url.password),
    }),
  };
  if (location === "s3") return { location, ...bucket };
  // The library refuses a bucket of Google without keys.
  return { location, accessKey: undefined, secretKey: undefined, ...bucket };
}
