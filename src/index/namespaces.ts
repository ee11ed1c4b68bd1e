/** Erases a namespace: a commit without its segments, and the deletion of the secret without which they are unreadable. */

import { methodOptions } from "../api/method-options.js";
import type { CallOptions, Erasure, ErasureReceipt, Namespaces } from "../api/vector-index.js";
import type { Calls } from "../async/calls.js";
import { checkIdText, invalid } from "../checks/input.js";
import { takeOptions } from "../checks/option-names.js";
import { hexadecimal, integer, parseStored, real, record, timeMax } from "../checks/stored-json.js";
import { generationMax } from "../keys/keyset.js";
import type { Manifest, SegmentRef } from "../state/commit/manifest.js";
import { namespaceText } from "../state/commit/namespaces.js";
import type { OpenIndex } from "./open/open-index.js";

const label = "sealdex/1/erasure";
const prefix = "sealdex-erasure-1-";
/** Clocks of processes that share an index may differ by that. */
const clockSkewMs = 10 * 60 * 1000;

/** The content of a receipt, as JSON. */
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
 * Two small writes, whatever the size of the index. After an interruption the same call does the rest. The newest manifest names all that
 * there is of the namespace, whatever the storage lists: nothing is signed while something remains. Throws `storage_unavailable` if the
 * storage still has the secret after deleting it.
 */
export async function erase(
  index: OpenIndex,
  namespace: string,
  signal: AbortSignal | undefined,
): Promise<ErasureReceipt> {
  const { namespaces } = index;
  const { erased, newest } = await commitErasure(index, namespace, signal);
  const destroyed = new Set(erased.flatMap(({ namespace: id }) => id ?? []));
  const left = await namespaces.deadObjectNames(newest, namespace);
  await namespaces.destroy([
    ...new Set([...[...destroyed].map((id) => namespaces.objectNameOf(id)), ...left]),
  ]);
  index.scopes.refresh(newest);
  const rows = erased.reduce((sum, segment) => sum + segment.rows, 0);
  return receiptOf(index, namespace, rows, newest);
}

/** The receipt of an erasure that is complete in this version. */
export function receiptOf(
  index: OpenIndex,
  namespace: string,
  rows: number,
  { version }: Manifest,
): ErasureReceipt {
  const erasure = { namespace, erasedAt: index.log.now(), rows, version };
  return { ...describe(erasure), receipt: sign(index, erasure) };
}

/** The segments that this call removed, and a manifest without any of the namespace. */
async function commitErasure(
  { log, namespaces }: OpenIndex,
  namespace: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly erased: readonly SegmentRef[]; readonly newest: Manifest }> {
  for (;;) {
    const newest = await log.newest();
    if (namespaces.idOf(namespace, newest) === undefined) return { erased: [], newest };
    let erased: readonly SegmentRef[] = [];
    const committed = await log.commit((latest) => {
      const id = namespaces.idOf(namespace, latest);
      if (signal?.aborted || id === undefined) return null;
      erased = latest.segments.filter((segment) => segment.namespace === id);
      return {
        ...latest,
        segments: latest.segments.filter((segment) => segment.namespace !== id),
        droppedObjects: [...latest.droppedObjects, ...erased.map(({ name }) => name)],
        erasures: (latest.erasures ?? 0) + 1,
      };
    });
    if (committed !== null) return { erased, newest: committed };
    signal?.throwIfAborted();
  }
}

/** Verifies receipts of an index. */
interface ReceiptReader extends Pick<OpenIndex, "indexId" | "indexName" | "keys"> {
  readonly log: { newest(): Promise<Pick<Manifest, "version">>; now(): number };
}

/**
 * The content of a receipt. Throws `invalid_request` unless a writer of this index signed it whose keys were in force at its version, which
 * exists, and it is not of the future.
 */
export async function readReceipt(index: ReceiptReader, receipt: unknown): Promise<Erasure> {
  const { indexId, indexName, keys, log } = index;
  const [, encoded, signature] =
    (typeof receipt === "string" && new RegExp(`^${prefix}([\\w-]+)\\.([\\w-]{86})$`).exec(receipt)) || [];
  if (encoded === undefined) throw invalid("receipt: expected the receipt of an erasure");
  const bytes = Buffer.from(encoded, "base64url");
  const text = parse(bytes);
  // Another process may have renewed the keys, which the newest manifest tells.
  const newest = await log.newest();
  if (
    text?.indexId === Buffer.from(indexId).toString("hex") &&
    text.version <= newest.version &&
    text.erasedAt <= log.now() + clockSkewMs &&
    keys.counts(text.keyGeneration, text.version) &&
    keys.isSigned(text.keyGeneration, label, bytes, Buffer.from(signature, "base64url"))
  ) {
    return describe(text);
  }
  throw invalid(
    `receipt: it was not signed by a writer of index "${indexName}", under keys in use, of a version and a time that have been`,
  );
}

const receiptText = record<ReceiptText>({
  indexId: hexadecimal(16),
  namespace: namespaceText,
  erasedAt: real(0, timeMax),
  rows: integer(0),
  version: integer(1),
  keyGeneration: integer(1, generationMax),
});

/** Not trusted before its signature was checked. Undefined if it is not the text of a receipt. */
function parse(bytes: Buffer): ReceiptText | undefined {
  try {
    return parseStored(bytes, "receipt", receiptText);
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

// The namespaces of an embedded index, as its callers see them.

/** The names of namespaces, and their erasure. A collection has both in each of its shards. */
export interface NamespaceVerbs {
  names(): Promise<string[]>;
  erase(namespace: string, signal: AbortSignal | undefined): Promise<ErasureReceipt>;
}

export class IndexNamespaces implements Namespaces {
  readonly #index: OpenIndex;
  readonly #calls: Calls;
  readonly #verbs: NamespaceVerbs;

  constructor(
    index: OpenIndex,
    calls: Calls,
    verbs: NamespaceVerbs = {
      names: async () => {
        const all = await index.namespaces.all(await index.log.newest());
        return all.map(({ name }) => name).sort();
      },
      erase: (namespace, signal) => erase(index, namespace, signal),
    },
  ) {
    this.#index = index;
    this.#calls = calls;
    this.#verbs = verbs;
  }

  async list(options: CallOptions = {}): Promise<string[]> {
    options = takeOptions(options, methodOptions.listNamespaces);
    return this.#calls.read(options.signal, () => this.#verbs.names());
  }

  async readReceipt(receipt: string, options: CallOptions = {}): Promise<Erasure> {
    options = takeOptions(options, methodOptions.readReceipt);
    return this.#calls.read(options.signal, () => readReceipt(this.#index, receipt));
  }

  async erase(namespace: string, options: CallOptions = {}): Promise<ErasureReceipt> {
    checkIdText(namespace, "namespace");
    options = takeOptions(options, methodOptions.erase);
    const { signal } = options;
    this.#index.keys.check("read-write", this.#index.indexName);
    return this.#calls.write(signal, () => this.#verbs.erase(namespace, signal));
  }
}
