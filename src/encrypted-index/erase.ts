/** Erases a namespace: a commit without its segments, and the deletion of the secret without which nobody reads them. */

import { invalid } from "../check-input.js";
import { canBeWritten } from "../commit/namespaces.js";
import type { Erasure, ErasureReceipt } from "../vector-index.js";
import type { OpenIndex } from "./open-index.js";

const label = "sealdex/1/erasure";
const prefix = "sealdex-erasure-1-";

/** What a receipt says, as JSON. */
interface ReceiptText {
  /** Hexadecimal. */
  readonly indexId: string;
  readonly namespace: string;
  /** Milliseconds since 1970. */
  readonly erasedAt: number;
  readonly rows: number;
  readonly version: number;
  readonly keyGeneration: number;
}

/**
 * Two small writes, whatever the size of the index. After an interruption the same call does what is left. Throws
 * `storage_unavailable` if the storage still has the secret after deleting it.
 */
export async function erase(
  index: OpenIndex,
  namespace: string,
  signal: AbortSignal | undefined,
): Promise<ErasureReceipt> {
  const { log, namespaces } = index;
  // The newest manifest is asked for, since this one decides what another process may still write.
  await log.newest();
  const stored = await namespaces.stored(namespace);
  const ids = new Set(stored.map(({ id }) => id));
  const isErased = (ref: { readonly namespace?: string }) =>
    ref.namespace !== undefined && ids.has(ref.namespace);
  let rows = 0;
  const committed = await log.commit((latest) => {
    rows = 0;
    if (signal?.aborted || !stored.some((one) => canBeWritten(latest, one))) return null;
    const erased = latest.segments.filter(isErased);
    rows = erased.reduce((sum, segment) => sum + segment.rows, 0);
    return {
      ...latest,
      segments: latest.segments.filter((segment) => !isErased(segment)),
      droppedObjects: [...latest.droppedObjects, ...erased.map(({ name }) => name)],
      erasures: (latest.erasures ?? 0) + 1,
    };
  });
  if (committed === null) signal?.throwIfAborted();
  await namespaces.destroy(stored.map(({ objectName }) => objectName));
  const newest = committed ?? (await log.newest());
  index.scopes.refresh(newest);
  const erasure = { namespace, erasedAt: log.now(), rows, version: newest.version };
  return { ...describe(erasure), receipt: sign(index, erasure) };
}

/** The names of the namespaces that have segments. */
export async function namespaceNames({ log, namespaces }: OpenIndex): Promise<string[]> {
  const { segments } = await log.newest();
  const ids = new Set(segments.flatMap(({ namespace }) => namespace ?? []));
  const found: string[] = [];
  for (const id of ids) found.push((await namespaces.byId(id)).name);
  return found.sort();
}

/** What a receipt says. Throws `invalid_request` unless a writer of this index signed it. */
export async function readReceipt(index: OpenIndex, receipt: unknown): Promise<Erasure> {
  const { indexId, indexName, keys, log } = index;
  const [, encoded, signature] =
    (typeof receipt === "string" && new RegExp(`^${prefix}([\\w-]+)\\.([\\w-]{86})$`).exec(receipt)) || [];
  if (encoded === undefined) throw invalid("receipt: expected the receipt of an erasure");
  const bytes = Buffer.from(encoded, "base64url");
  const text = parse(bytes);
  const isOurs = text?.indexId === Buffer.from(indexId).toString("hex");
  const isSigned = (by: number) => keys.isSigned(by, label, bytes, Buffer.from(signature, "base64url"));
  if (text !== undefined && isOurs) {
    if (isSigned(text.keyGeneration)) return describe(text);
    // Another process may have renewed the keys, which the newest manifest tells.
    await log.newest();
    if (isSigned(text.keyGeneration)) return describe(text);
  }
  throw invalid(`receipt: it was not signed by a writer of index "${indexName}", under keys in use`);
}

/** Not trusted before its signature was checked. */
function parse(bytes: Buffer): ReceiptText | undefined {
  try {
    return JSON.parse(bytes.toString("utf8")) as ReceiptText;
  } catch {
    return undefined;
  }
}

function sign({ indexId, keys }: OpenIndex, erasure: Omit<ReceiptText, "indexId" | "keyGeneration">): string {
  const text = { indexId: Buffer.from(indexId).toString("hex"), ...erasure, keyGeneration: keys.generation };
  const bytes = Buffer.from(JSON.stringify(text), "utf8");
  const signature = Buffer.from(keys.sign(label, bytes));
  return `${prefix}${bytes.toString("base64url")}.${signature.toString("base64url")}`;
}

function describe({
  namespace,
  erasedAt,
  rows,
  version,
}: Omit<ReceiptText, "indexId" | "keyGeneration">): Erasure {
  return { namespace, erasedAt: new Date(erasedAt), rows, version };
}
