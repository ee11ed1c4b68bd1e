/** The index of all documents, which opens at its first use. */

import type { Client, StorageLocation, VectorIndex } from "sealdex/core";
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
  private client: Client | undefined;
  private opened: Promise<VectorIndex> | undefined;
  /** Until an index that was opened is deleted. */
  private mayCreate: boolean;

  constructor(settings: IndexSettings) {
    this.settings = settings;
    this.mayCreate = settings.create;
  }

  /** The passages that fit a question best, by words and by meaning. */
  async search(query: string, limit: number, signal?: AbortSignal): Promise<Found[]> {
    const matches = await this.use((index) =>
      index.query({
        queryText: wordsOf(query),
        queryContents: query,
        topK: limit,
        nProbes: 0,
        include: ["contents", "metadata"],
        ...(signal && { signal }),
      }),
    );
    return matches.map(({ contents = "", metadata }) => {
      const passage = metadata as unknown as PassageMetadata;
      const { part, under } = passage;
      return { document: nameOf(passage), part, under, text: textOf(contents, passage) };
    });
  }

  /** A page of a document, from one of its parts on. Undefined if there is none. */
  read(document: string, from: number): Promise<Page | undefined> {
    return this.use((index) => this.readIn(index, document, from));
  }

  private async readIn(index: VectorIndex, document: string, from: number): Promise<Page | undefined> {
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
    const page = await this.use((index) =>
      index.listItems({
        filter: { part: 0 },
        limit,
        include: ["metadata"],
        ...(cursor !== undefined && { cursor }),
      }),
    );
    return {
      documents: page.items.map(({ metadata }) => {
        const passage = metadata as unknown as PassageMetadata;
        return { document: nameOf(passage), size: passage.size ?? 0 };
      }),
      ...(page.cursor !== undefined && { cursor: page.cursor }),
    };
  }

  async counts(): Promise<{ readonly documents: number; readonly passages: number }> {
    const [documents, passages] = await this.use((index) =>
      Promise.all([index.count({ filter: { part: 0 } }), index.count()]),
    );
    return { documents, passages };
  }

  /** Stores documents in one commit, and removes all passages of their `replaced` versions in it. */
  async store(documents: readonly Document[], replaced: readonly Document[] = []): Promise<void> {
    const docs = replaced.map(({ source, path }) => docOf(source, path));
    const items = documents.flatMap(itemsOf);
    await this.use((index) =>
      index.upsert(items, {
        skipUnchanged: true,
        ...(docs.length > 0 && { deleteFilter: { doc: { $in: docs } } }),
      }),
    );
  }

  async remove(source: string, paths: readonly string[]): Promise<void> {
    const docs = paths.map((path) => docOf(source, path));
    for (let i = 0; i < docs.length; i += deletedAtOnce) {
      const filter = { doc: { $in: docs.slice(i, i + deletedAtOnce) } };
      await this.use((index) => index.delete({ filter }));
    }
  }

  /** Deletes a remembered note. False if there is none: files are deleted in their folder. */
  async forget(document: string): Promise<boolean> {
    const [source, path] = splitName(document);
    if (source !== memory || (await this.record(source, path)) === undefined) return false;
    await this.remove(source, [path]);
    return true;
  }

  async record(source: string, path: string): Promise<FileRecord | undefined> {
    const ids = [passageId(docOf(source, path), 0)];
    const [first] = await this.use((index) => index.get(ids, { include: ["metadata"] }));
    return first && (first.metadata as unknown as FileRecord);
  }

  /** The records of all files of a source, by their paths. */
  records(source: string): Promise<Map<string, FileRecord>> {
    return this.use(async (index) => {
      const records = new Map<string, FileRecord>();
      for await (const { metadata } of index.items({ filter: { source, part: 0 }, include: ["metadata"] })) {
        const { path, digest = "", size = 0, mtimeMs = 0 } = metadata as unknown as PassageMetadata;
        records.set(path, { digest, size, mtimeMs });
      }
      return records;
    });
  }

  async close(): Promise<void> {
    await this.opened?.catch(() => undefined);
    await this.client?.close();
  }

  /** Runs `work` on the index, and again if another process deleted it, since it may have made a new one. */
  private async use<T>(work: (index: VectorIndex) => Promise<T>): Promise<T> {
    const opening = this.open();
    const index = await opening;
    try {
      return await work(index);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "not_found") throw error;
    }
    // Unless another call has opened the new one.
    if (this.opened === opening) {
      this.opened = undefined;
      this.mayCreate = false;
    }
    return work(await this.open());
  }

  /** A failure, for example of the network, is not kept: the next call tries again. */
  private open(): Promise<VectorIndex> {
    this.opened ??= this.openOrCreate().catch((error: unknown) => {
      this.opened = undefined;
      throw error;
    });
    return this.opened;
  }

  private async openOrCreate(): Promise<VectorIndex> {
    const { createClient, SealdexError } = await import("sealdex/core");
    const { location, indexName, key } = this.settings;
    const client = (this.client ??= createClient({ indexLocation: location }));
    const exists = (await client.listIndexes()).includes(indexName);
    const { indexKey, keep } = await key(this.mayCreate && !exists);
    const options = { indexName, indexKey };
    if (exists || !this.mayCreate) return client.loadIndex(options);
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
