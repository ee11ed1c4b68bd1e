/** The index of all documents, which opens at its first use. */

import type { StorageLocation, VectorIndex } from "sealdex/core";
import type { KeySource } from "../key-source.js";
import {
  type Document,
  docOf,
  type FileRecord,
  itemsOf,
  memory,
  type PassageMetadata,
  passageId,
  textOf,
} from "./document.js";

export interface IndexSettings {
  readonly location: StorageLocation;
  readonly indexName: string;
  /** Asked when the index opens, with whether a new key may be made. */
  readonly key: (create: boolean) => Promise<KeySource>;
  /** Whether to create the index if there is none. */
  readonly create: boolean;
}

export interface Found {
  readonly document: string;
  readonly part: number;
  readonly under: string;
  readonly text: string;
}

export interface Page {
  readonly text: string;
  /** The part with which the next page begins. Absent at the end. */
  readonly next?: number;
}

export interface Listed {
  readonly documents: readonly { readonly document: string; readonly size: number }[];
  readonly cursor?: string;
}

const pageCharacters = 20_000;
const partsAtOnce = 50;
const deletedAtOnce = 1000;

export class DocumentIndex {
  private readonly settings: IndexSettings;
  private opened: Promise<VectorIndex> | undefined;
  private release: () => Promise<void> = async () => undefined;

  constructor(settings: IndexSettings) {
    this.settings = settings;
  }

  /** The passages that fit a question best, by words and by meaning. */
  async search(query: string, limit: number, signal?: AbortSignal): Promise<Found[]> {
    const index = await this.open();
    const matches = await index.query({
      queryText: wordsOf(query),
      queryContents: query,
      topK: limit,
      nProbes: 0,
      include: ["contents", "metadata"],
      ...(signal && { signal }),
    });
    return matches.map(({ contents = "", metadata }) => {
      const passage = metadata as unknown as PassageMetadata;
      const { part, under } = passage;
      return { document: nameOf(passage), part, under, text: textOf(contents, passage) };
    });
  }

  /** A page of a document, from one of its parts on. Undefined if there is none. */
  async read(document: string, from: number): Promise<Page | undefined> {
    const index = await this.open();
    const doc = docOf(...splitName(document));
    const [first] = await index.get([passageId(doc, 0)], { include: ["metadata"] });
    if (first === undefined) return undefined;
    const { parts = 1 } = first.metadata as unknown as PassageMetadata;
    if (from >= parts) return undefined;
    const texts: string[] = [];
    let length = 0;
    let part = from;
    while (part < parts && length < pageCharacters) {
      const ids = Array.from({ length: Math.min(partsAtOnce, parts - part) }, (_, i) =>
        passageId(doc, part + i),
      );
      const passages = await index.get(ids, { include: ["contents", "metadata"] });
      if (passages.length === 0) break;
      for (const { contents = "", metadata } of passages) {
        if (length >= pageCharacters) break;
        const text = textOf(contents, metadata as unknown as PassageMetadata);
        texts.push(text);
        length += text.length;
        part++;
      }
    }
    return { text: texts.join("\n\n"), ...(part < parts && { next: part }) };
  }

  /** Documents in pages of `limit`. */
  async list(limit: number, cursor?: string): Promise<Listed> {
    const index = await this.open();
    const page = await index.listItems({
      filter: { part: 0 },
      limit,
      include: ["metadata"],
      ...(cursor !== undefined && { cursor }),
    });
    return {
      documents: page.items.map(({ metadata }) => {
        const passage = metadata as unknown as PassageMetadata;
        return { document: nameOf(passage), size: passage.size ?? 0 };
      }),
      ...(page.cursor !== undefined && { cursor: page.cursor }),
    };
  }

  async counts(): Promise<{ readonly documents: number; readonly passages: number }> {
    const index = await this.open();
    const [documents, passages] = await Promise.all([index.count({ filter: { part: 0 } }), index.count()]);
    return { documents, passages };
  }

  /** Stores documents in one commit, and removes all passages of their `replaced` versions in it. */
  async store(documents: readonly Document[], replaced: readonly Document[] = []): Promise<void> {
    const docs = replaced.map(({ source, path }) => docOf(source, path));
    await (
      await this.open()
    ).upsert(documents.flatMap(itemsOf), {
      skipUnchanged: true,
      ...(docs.length > 0 && { deleteFilter: { doc: { $in: docs } } }),
    });
  }

  async remove(source: string, paths: readonly string[]): Promise<void> {
    const index = await this.open();
    const docs = paths.map((path) => docOf(source, path));
    for (let i = 0; i < docs.length; i += deletedAtOnce)
      await index.delete({ filter: { doc: { $in: docs.slice(i, i + deletedAtOnce) } } });
  }

  /** Deletes a remembered note. False if there is none: files are deleted in their folder. */
  async forget(document: string): Promise<boolean> {
    const [source, path] = splitName(document);
    if (source !== memory || (await this.record(source, path)) === undefined) return false;
    await this.remove(source, [path]);
    return true;
  }

  async record(source: string, path: string): Promise<FileRecord | undefined> {
    const index = await this.open();
    const [first] = await index.get([passageId(docOf(source, path), 0)], { include: ["metadata"] });
    return first && (first.metadata as unknown as FileRecord);
  }

  /** The records of all files of a source, by their paths. */
  async records(source: string): Promise<Map<string, FileRecord>> {
    const index = await this.open();
    const records = new Map<string, FileRecord>();
    for await (const { metadata } of index.items({ filter: { source, part: 0 }, include: ["metadata"] })) {
      const { path, digest = "", size = 0, mtimeMs = 0 } = metadata as unknown as PassageMetadata;
      records.set(path, { digest, size, mtimeMs });
    }
    return records;
  }

  async close(): Promise<void> {
    await this.opened?.catch(() => undefined);
    await this.release();
  }

  /** A failure, for example of the network, is not kept: the next call tries again. */
  private open(): Promise<VectorIndex> {
    this.opened ??= this.openOrCreate().catch(async (error: unknown) => {
      this.opened = undefined;
      await this.release();
      throw error;
    });
    return this.opened;
  }

  private async openOrCreate(): Promise<VectorIndex> {
    const { createClient, SealdexError } = await import("sealdex/core");
    const { location, indexName, key, create } = this.settings;
    const client = createClient({ indexLocation: location });
    this.release = () => client.close();
    const exists = (await client.listIndexes()).includes(indexName);
    const { indexKey, keep } = await key(create && !exists);
    const options = { indexName, indexKey };
    if (exists || !create) return client.loadIndex(options);
    try {
      const index = await client.createIndex({
        ...options,
        metric: "cosine",
        embeddingModel: "default",
        textIndex: true,
        indexConfig: { type: "ivfflat", precision: "int8" },
      });
      keep?.();
      return index;
    } catch (error) {
      // Another server created it in the meantime.
      if (!(error instanceof SealdexError) || error.code !== "already_exists") throw error;
      return client.loadIndex(options);
    }
  }
}

/** As the retrievers of Sealdex read a question: no sign before a word excludes or requires it, and no quote begins a phrase. */
function wordsOf(query: string): string {
  return query.replace(/[*"\u201c-\u201e]/g, " ").replace(/(^|\s)[+-]+/g, "$1");
}

/** How a document is called by clients: its source, a slash, its path. */
function nameOf({ source, path }: PassageMetadata): string {
  return `${source}/${path}`;
}

function splitName(document: string): [source: string, path: string] {
  const slash = document.indexOf("/");
  return slash < 0 ? [memory, document] : [document.slice(0, slash), document.slice(slash + 1)];
}
