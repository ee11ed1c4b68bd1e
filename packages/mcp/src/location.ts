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
import { parseLocation } from "sealdex/wire";

export const defaultLocation = join(homedir(), ".sealdex", "mcp");

type Environment = Readonly<Record<string, string | undefined>>;

export function readLocation(text: string, environment: Environment): StorageLocation {
  // One letter is a drive of Windows.
  if (!/^[a-z][a-z0-9]+:/i.test(text)) return { location: "local", path: resolve(expandHome(text)) };
  // A process list shows arguments, so keys of buckets are not among them.
  const isUrl = /^(s3|gs):\/\/[^/?@]+([/?]|$)|^(rediss?|postgres(ql)?):\/\//.test(text);
  const location = isUrl ? parseLocation(text) : undefined;
  if (location === undefined)
    throw new Error(
      "--location: expected a folder, s3://bucket/prefix?region=…&endpoint=…, gs://bucket/prefix, redis://… or postgres://…",
    );
  const { GCS_HMAC_ACCESS_ID: accessKey, GCS_HMAC_SECRET: secretKey } = environment;
  return location.location === "gcs" ? { ...location, accessKey, secretKey } : location;
}

/** Clients start the server without a shell, which would do this. */
export function expandHome(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}
