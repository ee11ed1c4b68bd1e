/**
 * Blobs as objects of a Google Cloud Storage bucket, through its XML interface with an HMAC key and
 * no SDK. Google's imitation of S3 ignores conditions on writes; here `x-goog-if-generation-match:
 * 0` creates an object only if there is none.
 */

import type { BlobStore } from "./blob-store.js";
import type { BucketLocation } from "./bucket-location.js";
import { type Answer, createConnection, type Request } from "./gcs-connection.js";
import { createObjectStore, type ObjectService } from "./object-store.js";
import { codeFrom, ServiceError } from "./service-error.js";
import { childText, parseXml, type XmlElement } from "./xml.js";

const endpointDefault = "https://storage.googleapis.com";
/** Google signs for any region under this name. */
const regionDefault = "auto";
const tokenHeader = "x-goog-meta-sealdex-create";
export function createGcsStore(
  location: BucketLocation & { readonly credentials: NonNullable<BucketLocation["credentials"]> },
): BlobStore {
  const { bucket, credentials, region = regionDefault, endpoint = endpointDefault } = location;
  const connection = createConnection({ endpoint, key: { ...credentials, region } });

  /** Returns the response if its status or code is expected; throws a ServiceError otherwise. */
  async function send(
    method: string,
    name: string,
    expected: readonly (number | string)[],
    rest: Partial<Request>,
  ): Promise<Answer & { readonly code: string }> {
    const path = name === "" ? `/${bucket}` : `/${bucket}/${name}`;
    const answer = await connection.send({ method, path, query: {}, headers: {}, ...rest });
    const code = answer.status < 400 ? "" : codeOf(answer);
    if (!expected.includes(answer.status) && !expected.includes(code)) {
      throw new ServiceError({ reason: code || "an unexpected answer", status: answer.status });
    }
    return { ...answer, code };
  }

  const service: ObjectService = {
    title: "gcs storage",

    async get(name, range, signal) {
      const { status, code, body } = await send("GET", name, [200, 206, 416, "NoSuchKey"], { range, signal });
      if (code === "NoSuchKey") return null;
      return status === 416 ? new Uint8Array(0) : body;
    },

    async tokenOf(name, signal) {
      const { status, headers } = await send("HEAD", name, [200, 404], { signal });
      if (status === 404) return null;
      const token = headers[tokenHeader];
      return typeof token === "string" ? token : undefined;
    },

    async put(name, bytes, token, signal) {
      const headers = {
        // Google's caches keep publicly readable objects for an hour otherwise.
        "cache-control": "private, no-store",
        "content-type": "application/octet-stream",
        "x-goog-if-generation-match": "0",
        [tokenHeader]: token,
      };
      const { status } = await send("PUT", name, [200, 409, 412], { headers, body: bytes, signal });
      if (status === 200) return "created";
      return status === 412 ? "taken" : "conflict";
    },

    async list(prefix, after, limit, signal) {
      const query = {
        "list-type": "2",
        "max-keys": String(limit),
        ...(prefix !== "" && { prefix }),
        ...(after !== "" && { "start-after": after }),
      };
      const { body } = await send("GET", "", [200], { query, signal });
      const root = tryParse(body);
      if (root?.name !== "ListBucketResult") {
        throw new ServiceError({ reason: "a list that cannot be read", isRefusal: true });
      }
      const entries = root.children.filter(({ name }) => name === "Contents");
      return {
        names: entries.map((entry) => childText(entry, "Key") ?? ""),
        isTruncated: childText(root, "IsTruncated") === "true",
      };
    },

    async remove(name, signal) {
      await send("DELETE", name, [200, 204, "NoSuchKey"], { signal });
    },

    async close() {
      connection.close();
    },
  };
  return createObjectStore(service, location.path);
}

function codeOf({ body }: Answer): string {
  const root = tryParse(body);
  return root?.name === "Error" ? codeFrom(childText(root, "Code") ?? "") : "";
}

function tryParse(body: Uint8Array): XmlElement | undefined {
  try {
    return parseXml(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    // A message must not repeat the text.
    return undefined;
  }
}
