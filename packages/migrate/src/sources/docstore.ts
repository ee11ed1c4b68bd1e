/** The documents that LangChain's stores of one folder keep beside the index. */

import { invalid, type Row } from "../source.js";

interface Document {
  readonly id?: string;
  readonly pageContent?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Keys and documents, as `docstore.json` of HNSWLib and of FaissStore has them. */
export type Entries = readonly (readonly [string | number, Document])[];

/** Throws `invalid_request` for anything but entries. */
export function toEntries(value: unknown, path: string): Entries {
  const isEntry = (entry: unknown) =>
    Array.isArray(entry) && typeof entry[1] === "object" && (entry as readonly unknown[])[1] !== null;
  if (Array.isArray(value) && value.every(isEntry)) return value as unknown as Entries;
  throw invalid(`${path}: expected a list of keys and documents, as LangChain's stores save it`);
}

/**
 * Everything but the vectors, by the docstore's keys. Ids are the documents' own if each has one
 * and no two are equal; otherwise the keys.
 */
export function documentsOf(entries: Entries): ReadonlyMap<string, Omit<Row, "vector">> {
  const own = new Set(entries.map(([, { id }]) => id).filter((id) => id !== undefined));
  const isOwn = own.size === entries.length;
  return new Map(
    entries.map(([number, { id, pageContent: contents, metadata = {} }]) => {
      const key = String(number);
      return [key, { id: isOwn ? id : key, contents, metadata }];
    }),
  );
}
