/**
 * Items of a saver. A checkpoint is one item, and each of its writes is another. Their ids order them: by thread, by namespace, the newest
 * checkpoint first, and its writes behind it. So one list of ids from a prefix on finds the newest checkpoint, whatever the number of steps.
 * Names of threads, namespaces and tasks are digests there; contents have everything, sealed by a secret of the thread.
 */

import { createHash } from "node:crypto";
import { bytesOfUrl, bytesUrl, urlBytesMax } from "../../api/bytes-url.js";
import type { GroupSecret } from "../../api/item-groups.js";
import type { Item, Metadata } from "../../api/vector-index.js";
import { invalid } from "../../checks/input.js";
import { type StoredBytes, toChunks } from "../stored-bytes.js";
import { decodeValue, encodeValue, type Value } from "./value-with-bytes.js";

/** The metadata of an item. */
export interface SaverRow {
  /** A digest of the thread's id. */
  readonly thread: string;
  /** The id of the secret that seals the contents. */
  readonly secret: string;
  /** Of contents that are too long for one item. */
  readonly stored?: StoredBytes;
}

/** All items are in this namespace: an index trains itself by those outside, and here it has nothing to learn. */
export const within = { namespace: "threads" } as const;
const vector = [0];
const checkpointIdMax = 128;

export function threadDigest(thread: string): string {
  return createHash("sha256").update(thread).digest("hex").slice(0, 32);
}

/** The prefix of the ids of all checkpoints, of a thread, or of a thread's namespace. */
export function checkpointsPrefix(thread?: string, namespace?: string): string {
  if (thread === undefined) return "t/";
  return `t/${thread}/${namespace === undefined ? "" : `${digest16(namespace)}/`}`;
}

/** Ids are ordered as those of checkpoints are, backwards. Throws `invalid_request` for an id that cannot be. */
export function checkpointItemId(thread: string, namespace: string, checkpointId: string): string {
  if (!/^[!-}]+$/.test(checkpointId) || checkpointId.length > checkpointIdMax) {
    throw invalid(`checkpoint_id: expected 1 to ${checkpointIdMax} printable characters of ASCII`);
  }
  return `${checkpointsPrefix(thread, namespace)}${mirrored(checkpointId)}~`;
}

/** The checkpoint's id in the id of its item, or of one of its writes. */
export function checkpointIdIn(itemId: string): string {
  return mirrored(itemId.slice(itemId.indexOf("/", itemId.indexOf("/", 2) + 1) + 1, itemId.indexOf("~")));
}

export function writeItemId(checkpointItem: string, task: string, position: number): string {
  return `${checkpointItem}/${digest16(task)}/${position}`;
}

/** Swaps the first printable character with the last, the second with the last but one, and so on. */
function mirrored(text: string): string {
  return text.replace(/[!-}]/g, (character) => String.fromCharCode(0x9e - character.charCodeAt(0)));
}

function digest16(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** JSON fields, and bytes under other names. */
export interface Contents {
  readonly fields: Value;
  readonly bytes: Readonly<Record<string, Uint8Array>>;
}

/** The items of a checkpoint or a write: one, unless its contents are long. */
export function sealedItems(id: string, thread: string, secret: GroupSecret, contents: Contents): Item[] {
  const blobs = Object.entries(contents.bytes).map(([name, bytes]) => ({ path: [name], bytes }));
  const places = Object.fromEntries(blobs.map(({ path: [name] }) => [name, null]));
  const json = JSON.stringify({ ...contents.fields, ...places });
  const sealed = secret.seal(id, encodeValue({ json, blobs }));
  const metadata: SaverRow = { thread, secret: secret.id };
  if (sealed.length <= urlBytesMax) return [{ id, vector, contents: bytesUrl(sealed), metadata }];
  const { stored, chunks } = toChunks(chunkedId(id), sealed, vector);
  return [
    ...chunks.map((chunk) => ({ ...chunk, metadata })),
    { id, vector, metadata: { ...metadata, stored } },
  ];
}

/** The id by which the chunks of an item are named: not between those of checkpoints. */
export function chunkedId(id: string): string {
  return `chunk${id.slice(1)}`;
}

export function saverRowOf(metadata: Metadata): SaverRow {
  return metadata as unknown as SaverRow;
}

/** Contents of an item, whole, or from its chunks. */
export function openContents(
  id: string,
  secret: GroupSecret,
  contents: string | undefined,
  bytes: Uint8Array | undefined,
): Value {
  return decodeValue(secret.open(id, bytes ?? bytesOfUrl(contents ?? "")));
}

/** Marks a thread whose secrets are being destroyed. */
export function markerItem(thread: string, secrets: readonly string[]): Item {
  return { id: markerId(thread), vector, metadata: { secrets } };
}

export function markerId(thread: string): string {
  return `deleted/${thread}`;
}
