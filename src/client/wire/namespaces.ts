/** The JSON of namespaces, without the address of the index. */

import { invalid, typeName } from "../../checks/input.js";
import type { Erasure, ErasureReceipt, NamespaceOption } from "../../api/vector-index.js";
import type { Maybe } from "./address.js";
import { foreign, ofService } from "./results.js";
import { decodeTime } from "./values.js";

export interface NamespaceBody {
  readonly namespace?: Maybe<string>;
}

/**
 * Throws `invalid_request` for anything but a string: JSON could turn it into null, and the call
 * would affect the whole index.
 */
export function encodeNamespace({ namespace }: NamespaceOption): NamespaceBody {
  if (namespace === undefined || typeof namespace === "string") return { namespace };
  throw invalid(`namespace: expected a string, got ${typeName(namespace)}`);
}

/** Null counts as absent. */
export function decodeNamespace({ namespace }: NamespaceBody): NamespaceOption {
  return { namespace: namespace ?? undefined };
}

interface ErasureBody {
  readonly namespace: string;
  /** ISO 8601. */
  readonly erased_at: string;
  readonly rows: number;
  readonly version: number;
}

interface ReceiptBody {
  readonly receipt: string;
}

export function encodeErasure({ namespace, erasedAt, rows, version }: Erasure): ErasureBody {
  return { namespace, erased_at: erasedAt.toISOString(), rows, version };
}

export function encodeErasureReceipt(erasure: ErasureReceipt): ErasureBody & ReceiptBody {
  return { ...encodeErasure(erasure), receipt: erasure.receipt };
}

export function decodeErasure(json: unknown): Erasure {
  return ofService(() => {
    const { namespace, erased_at, rows, version } = json as ErasureBody;
    if (typeof namespace !== "string") throw foreign();
    return { namespace, erasedAt: decodeTime(erased_at, "erased_at"), rows, version };
  });
}

export function decodeErasureReceipt(json: unknown): ErasureReceipt {
  const erasure = decodeErasure(json);
  const { receipt } = json as ReceiptBody;
  if (typeof receipt !== "string") throw foreign();
  return { ...erasure, receipt };
}
