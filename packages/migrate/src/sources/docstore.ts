/** The documents that LangChain's stores of one folder keep beside the index. */

/** As LangChain's `SynchronousInMemoryDocstore` and HNSWLib's docstore write them. */
export interface Document {
  readonly id?: string;
  readonly pageContent?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export type Entries = readonly (readonly [string | number, Document])[];

/** The documents' own ids if each has one and no two are equal; otherwise the docstore's. */
export function idsOf(documents: ReadonlyMap<string, Document>): ReadonlyMap<string, string> {
  const own = new Set(Array.from(documents.values(), ({ id }) => id).filter((id) => id !== undefined));
  const isOwn = own.size === documents.size;
  return new Map(Array.from(documents, ([key, { id = key }]) => [key, isOwn ? id : key]));
}

export function rowOf({ pageContent, metadata = {} }: Document) {
  return { contents: pageContent, metadata };
}
