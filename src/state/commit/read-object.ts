/** Objects that are read as a whole, and how long each may be. Segments and models have their lengths in manifests. */

import { joinBytes } from "../../async/event-loop.js";
import { generationOf } from "../../crypto/sealed-object.js";
import { SealdexError } from "../../errors.js";
import type { BlobStore, OperationOptions } from "../../storage/blob-store.js";
import { isNumbered, manifestPrefix } from "./object-names.js";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** docs/internals/format.md §1. */
const bytesMax = {
  /** Of 256 wraps, many times over. */
  record: 16 * mebibyte,
  /** Of some 90,000 segments. */
  manifest: 32 * mebibyte,
  /** All are of a fixed size, but for the name of a namespace. */
  anchor: kibibyte,
  group: kibibyte,
  namespace: 4 * kibibyte,
} as const;

/** Nearly always all of it. */
const firstBytes = mebibyte;

/**
 * The object; null if there is none. Read in parts, each as long as all before it: so a storage that holds something longer can make it
 * take no more time and memory than the longest. Throws `corrupt` for that.
 */
export async function readObject(
  store: Pick<BlobStore, "read">,
  kind: keyof typeof bytesMax,
  name: string,
  options?: OperationOptions,
): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  for (let offset = 0; ;) {
    const length = Math.min(Math.max(firstBytes, offset), bytesMax[kind] + 1 - offset);
    const part = await store.read(name, { offset, length }, options);
    if (part === null) return null;
    parts.push(part);
    offset += part.length;
    if (offset > bytesMax[kind]) {
      throw new SealdexError(
        "corrupt",
        `stored object ${name}: expected at most ${bytesMax[kind]} bytes, it has more`,
      );
    }
    if (part.length < length) return parts.length === 1 ? part : joinBytes(parts);
  }
}

/** Returns the sealed object. Throws `too_large` if no reader would take it. */
export function checkObjectLength(kind: keyof typeof bytesMax, what: string, bytes: Uint8Array): Uint8Array {
  if (bytes.length <= bytesMax[kind]) return bytes;
  throw new SealdexError(
    "too_large",
    `${what}: expected at most ${bytesMax[kind]} bytes, got ${bytes.length}`,
  );
}

// Under which keys the stored manifests of an index are sealed, as their headers say, which are not authenticated.

/** As much of an object as says under which key it was sealed. */
const headerStart = { offset: 0, length: 12 };

/** Of the oldest and of the newest manifest; undefined for one that is gone. `store`: where the manifests are. */
export async function storedGenerations(
  store: BlobStore,
  indexId: Uint8Array,
): Promise<{ readonly oldest: number | undefined; readonly newest: number | undefined }> {
  const prefix = manifestPrefix(indexId);
  const names = (await store.list(prefix)).filter((name) => isNumbered(name, prefix));
  const ends = names.length === 0 ? [] : [names[names.length - 1], names[0]];
  const headers = await Promise.all(ends.map((name) => store.read(name, headerStart)));
  const [oldest, newest] = headers.map((header) => (header === null ? undefined : generationOf(header)));
  return { oldest, newest };
}
