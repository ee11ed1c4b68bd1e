/**
 * Checks the fields of a storage location that name a bucket. Messages never repeat a field's
 * value.
 */

import { SealdexError } from "../errors.js";

interface BucketFields {
  readonly location: string;
  readonly bucket?: unknown;
  readonly accessKey?: unknown;
  readonly secretKey?: unknown;
  readonly region?: unknown;
  readonly endpoint?: unknown;
  readonly path?: unknown;
}

export interface BucketLocation {
  readonly bucket: string;
  /** Prefix of every object's name, before a "/"; may be empty. */
  readonly path: string;
  readonly region: string | undefined;
  /** Without a path of its own and without a "/" at its end. */
  readonly endpoint: string | undefined;
  readonly credentials: { readonly accessKey: string; readonly secretKey: string } | undefined;
}

const bucketPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{1,221}$/;
const regionPattern = /^[a-z0-9-]{1,64}$/;
/** Characters that need no encoding anywhere. With a key of 512 a name stays within the services' 1,024 bytes. */
const pathPattern = /^(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+(\/(?!\.{1,2}(\/|$))[A-Za-z0-9._~-]+)*$/;
const pathCharactersMax = 500;

/** Throws `invalid_request`. */
export function checkBucketLocation(fields: BucketFields): BucketLocation {
  const { location, bucket, region, endpoint, accessKey, secretKey, path } = fields;
  const refuse = (expected: string) =>
    new SealdexError("invalid_request", `storage location ${location}: expected ${expected}`);
  if (typeof bucket !== "string" || !bucketPattern.test(bucket)) {
    throw refuse('bucket to be the name of a bucket: letters, digits, ".", "_", "-"');
  }
  if (region !== undefined && (typeof region !== "string" || !regionPattern.test(region))) {
    throw refuse('region to be the name of a region, such as "eu-north-1"');
  }
  if ((accessKey === undefined) !== (secretKey === undefined)) {
    throw refuse("accessKey and secretKey together, or neither");
  }
  // A line break in a key would become one in a header.
  for (const key of [accessKey, secretKey]) {
    if (key !== undefined && (typeof key !== "string" || !/^[!-~]+$/.test(key))) {
      throw refuse("accessKey and secretKey to be texts without spaces");
    }
  }
  const trimmed = typeof path === "string" ? path.replace(/^\/|\/$/g, "") : path;
  if (trimmed !== undefined && trimmed !== "") {
    if (typeof trimmed !== "string" || trimmed.length > pathCharactersMax || !pathPattern.test(trimmed)) {
      throw refuse(
        `path to be at most ${pathCharactersMax} characters, parts of letters, digits, ".", "_", "~", "-" joined by "/"`,
      );
    }
  }
  return {
    bucket,
    region: region as string | undefined,
    endpoint: endpoint === undefined ? undefined : checkEndpoint(endpoint, refuse),
    credentials:
      accessKey === undefined
        ? undefined
        : { accessKey: accessKey as string, secretKey: secretKey as string },
    path: (trimmed ?? "") as string,
  };
}

function checkEndpoint(endpoint: unknown, refuse: (expected: string) => SealdexError): string {
  const refusal = refuse("endpoint to be a URL: http or https, a host, perhaps a port, and nothing else");
  let url: URL;
  try {
    url = new URL(String(endpoint));
  } catch {
    throw refusal;
  }
  const isPlain = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (!/^https?:$/.test(url.protocol) || !isPlain || url.pathname !== "/") throw refusal;
  return url.origin;
}
