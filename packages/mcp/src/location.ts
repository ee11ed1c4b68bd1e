/**
 * The storage of the index, as text. It may hold a password, so no message repeats it.
 *
 *     /home/ann/index          a folder
 *     s3://bucket/prefix       ?region=…&endpoint=…; keys come from the AWS SDK's credential chain
 *     gs://bucket/prefix       keys come from GCS_HMAC_ACCESS_ID and GCS_HMAC_SECRET
 *     redis://…  rediss://…  postgres://…
 */

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { StorageLocation } from "sealdex/core";

export const defaultLocation = join(homedir(), ".sealdex", "mcp");

type Environment = Readonly<Record<string, string | undefined>>;

export function parseLocation(text: string, environment: Environment): StorageLocation {
  // One letter is a drive of Windows.
  if (!/^[a-z][a-z0-9]+:/i.test(text)) return { location: "local", path: resolve(expandHome(text)) };
  if (/^rediss?:\/\//.test(text)) return { location: "redis", connectionString: text };
  if (/^postgres(ql)?:\/\//.test(text)) return { location: "postgres", connectionString: text };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const { region, endpoint, ...others } = Object.fromEntries(url?.searchParams ?? []);
  const isBucket = url && /^(s3|gs):$/.test(url.protocol) && url.hostname !== "" && url.username === "";
  if (!isBucket || Object.keys(others).length > 0)
    throw new Error(
      "--location: expected a folder, s3://bucket/prefix?region=…&endpoint=…, gs://bucket/prefix, redis://… or postgres://…",
    );
  const path = decodeURIComponent(url.pathname.replace(/^\//, ""));
  const bucket = {
    bucket: url.hostname,
    ...(path !== "" && { path }),
    ...(region && { region }),
    ...(endpoint && { endpoint }),
  };
  if (url.protocol === "s3:") return { location: "s3", ...bucket };
  const { GCS_HMAC_ACCESS_ID, GCS_HMAC_SECRET } = environment;
  return { location: "gcs", ...bucket, accessKey: GCS_HMAC_ACCESS_ID, secretKey: GCS_HMAC_SECRET };
}

/** Clients start the server without a shell, which would do this. */
export function expandHome(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}
