/** The fields of every request that identify the index. */

import type { OpenIndexOptions } from "../../api/vector-index.js";
import { encodeKey } from "./values.js";

/** Null counts as absent: many JSON writers send it for unset fields. */
export type Maybe<T> = T | null | undefined;

export interface AddressBody {
  readonly index_name: string;
  readonly index_key: string;
}

/** Name and key of an index. */
export function encodeAddress({ indexName, indexKey }: OpenIndexOptions): AddressBody {
  return { index_name: indexName, index_key: encodeKey(indexKey) };
}

export function decodeAddress(body: AddressBody): { indexName: string; indexKey: string } {
  return { indexName: body.index_name, indexKey: body.index_key };
}

export function addressIn(body: unknown): { indexName: string | undefined; indexKey: string | undefined } {
  const { index_name: indexName, index_key: indexKey } = (body ?? {}) as Partial<
    Record<keyof AddressBody, unknown>
  >;
  return { indexName: textOf(indexName), indexKey: textOf(indexKey) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
