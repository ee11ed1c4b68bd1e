/**
 * Reads a segment, block by block, through the cache. Nothing is used before it is authenticated.
 */

import type { KeyObject } from "node:crypto";
import { lastUseOf } from "../engine/block-record.js";
import type { Codec, LoadedCodes } from "../engine/codec.js";
import { allocate, bytesAt, free, wordsAt } from "../engine/kernels/memory.js";
import type { BlobStore } from "../storage/blob-store.js";
import type { BlockCache, CachedBlock } from "./block-cache.js";
import { distinct, groupsOf, leading } from "./block-requests.js";
import { BlockSource, type SegmentLocation } from "./block-source.js";
import {
  type Block,
  blockOfRow,
  type CodeBlock,
  decodeDirectory,
  blocksOfWord,
  type Directory,
  type RowBlock,
} from "./directory.js";
import { entryWords, findEntry, fingerprintWords } from "./id-table.js";
import { decodePage } from "./row.js";

/** A code block, opened. */
export interface OpenCodes extends CachedBlock {
  readonly codes: LoadedCodes;
  /** Kernel memory offset of the rows' fingerprints, layout (n, 4) words. */
  readonly fingerprints: number;
}

/** An id table (see id-table.ts), opened. */
export interface OpenIdTable extends CachedBlock {
  /** Kernel memory offset of the entries. */
  readonly entries: number;
  readonly count: number;
}

interface Page extends CachedBlock {
  readonly parts: readonly (Uint8Array | null)[];
}

interface IdPage extends CachedBlock {
  readonly entries: Uint32Array;
}

export class SegmentReader {
  readonly directory: Directory;
  readonly codec: Codec;
  readonly #source: BlockSource;
  readonly #cache: BlockCache;
  #entries: Promise<Uint32Array> | undefined;

  private constructor(directory: Directory, codec: Codec, source: BlockSource, cache: BlockCache) {
    this.directory = directory;
    this.codec = codec;
    this.#source = source;
    this.#cache = cache;
  }

  /** Reads the end, with the directory. Throws `missing_object` or `corrupt`. */
  static async open(
    key: KeyObject,
    location: SegmentLocation,
    codecOf: (dimension: number) => Promise<Codec>,
    store: BlobStore,
    cache: BlockCache,
  ): Promise<SegmentReader> {
    const { source, last } = await BlockSource.open(key, location, store);
    const directory = decodeDirectory(last);
    return new SegmentReader(directory, await codecOf(directory.dimension), source, cache);
  }

  /**
   * Code blocks, opened and pinned; call `unpin` with the same blocks when done.
   * Each lies in kernel memory: the fingerprints and the codes.
   */
  pinCodes(blocks: readonly CodeBlock[]): Promise<OpenCodes[]> {
    return this.pin(blocks, (block, plaintext) => {
      const { rows } = block as CodeBlock;
      const fingerprints = allocate(16 * rows);
      bytesAt(fingerprints, 16 * rows).set(plaintext.subarray(0, 16 * rows));
      const codes = this.codec.load(plaintext.subarray(16 * rows), rows, fingerprints);
      return {
        codes,
        fingerprints,
        bytes: codes.bytes + 16 * rows,
        lastUse: () => lastUseOf(codes.record),
        free() {
          codes.free();
          free(fingerprints);
        },
      };
    });
  }

  /** A code block if it is open already, not pinned: good for as long as nothing is awaited. */
  openedCodes(block: CodeBlock): OpenCodes | undefined {
    return this.#cache.peek(block) as OpenCodes | undefined;
  }

  /** The id table in kernel memory, opened and pinned; call `unpinTable` when done. */
  async pinTable(): Promise<OpenIdTable> {
    const [table] = await this.#cache.pin([this.directory], async () => {
      const entries = await this.#readEntries();
      const at = allocate(entries.byteLength);
      wordsAt(at, entries.length).set(entries);
      const count = entries.length / entryWords;
      return [{ entries: at, count, bytes: entries.byteLength, free: () => free(at) }];
    });
    return table;
  }

  /** The id table if it is in kernel memory already, not pinned: good for as long as nothing is awaited. */
  openedTable(): OpenIdTable | undefined {
    return this.#cache.peek(this.directory) as OpenIdTable | undefined;
  }

  unpinTable(): void {
    this.#cache.unpin([this.directory]);
  }

  unpin(blocks: readonly Block[]): void {
    this.#cache.unpin(blocks);
  }

  /** Fingerprints and codes of one code block, read past the cache: for passes over everything. */
  async readCodes(block: CodeBlock): Promise<{ fingerprints: Uint32Array; codes: Uint8Array }> {
    const [plaintext] = await this.#source.read([block]);
    const fingerprints = new Uint32Array(4 * block.rows);
    new Uint8Array(fingerprints.buffer).set(plaintext.subarray(0, 16 * block.rows));
    return { fingerprints, codes: plaintext.subarray(16 * block.rows) };
  }

  /** Vectors of these rows, as the codec decodes them: bit for bit, unless only codes were kept. */
  async vectors(rows: readonly number[]): Promise<Float32Array[]> {
    const { dimension, codes } = this.directory;
    const placesOf = new Map<CodeBlock, number[]>();
    rows.forEach((row, place) => {
      const block = blockOfRow(codes, row);
      const places = placesOf.get(block) ?? [];
      places.push(place);
      placesOf.set(block, places);
    });
    const vectors: Float32Array[] = Array.from({ length: rows.length });
    for (const group of groupsOf(distinct([...placesOf.keys()]))) {
      const opened = await this.pinCodes(group);
      try {
        group.forEach((block, i) => {
          const places = placesOf.get(block) as number[];
          const wanted = places.map((place) => rows[place] - block.firstRow);
          const picked = this.codec.pick(opened[i].codes, wanted);
          places.forEach((place, at) => {
            vectors[place] = picked.slice(at * dimension, (at + 1) * dimension);
          });
        });
      } finally {
        this.unpin(group);
      }
    }
    return vectors;
  }

  /** Records of these rows (see row.ts), as views to be decoded, not kept. */
  async records(rows: readonly number[]): Promise<Uint8Array[]> {
    return (await this.#parts(this.directory.records, rows)) as Uint8Array[];
  }

  /** The record of a row if it is open already. */
  openedRecord(row: number): Uint8Array | undefined {
    const block = blockOfRow(this.directory.records, row);
    const page = this.#cache.peek(block) as Page | undefined;
    return page?.parts[row - block.firstRow] as Uint8Array | undefined;
  }

  /** Contents of these rows, or null where there are none. */
  contents(rows: readonly number[]): Promise<(Uint8Array | null)[]> {
    return this.#parts(this.directory.contents, rows);
  }

  /** What `make` gives, kept in the cache under `key` and pinned; call `unpinMade` with the key when done. */
  async pinMade<T extends CachedBlock>(key: object, make: () => Promise<T>): Promise<T> {
    const [made] = await this.#cache.pin([key], async () => [await make()]);
    return made;
  }

  unpinMade(key: object): void {
    this.#cache.unpin([key]);
  }

  /**
   * Reads records or contents of ascending rows past the cache, a few megabytes at a time: for passes over
   * everything. Each call of the result must go on where the one before ended.
   */
  forward(section: "records" | "contents"): (rows: readonly number[]) => Promise<(Uint8Array | null)[]> {
    const blocks = this.directory[section];
    let held: { readonly block: RowBlock; readonly parts: (Uint8Array | null)[] }[] = [];
    let next = 0;
    return async (rows) => {
      const last = rows[rows.length - 1];
      held = held.filter(({ block }) => block.firstRow + block.rows > rows[0]);
      while (next < blocks.length && blocks[next].firstRow <= last) {
        const group = leading(blocks.slice(next));
        next += group.length;
        const pages = await this.#source.read(group);
        const opened = pages.map((page, i) => ({ block: group[i], parts: decodePage(page, group[i].rows) }));
        held.push(...opened.filter(({ block }) => block.firstRow + block.rows > rows[0]));
      }
      let at = 0;
      return rows.map((row) => {
        while (held[at].block.firstRow + held[at].block.rows <= row) at++;
        return held[at].parts[row - held[at].block.firstRow];
      });
    };
  }

  /**
   * Rows of items, by fingerprint: a row, `tombstone`, or -1 where the segment does not speak of the item.
   * Reads only the parts of the id table that can hold them.
   */
  async find(fingerprints: readonly Uint8Array[]): Promise<number[]> {
    const words = fingerprintWords(fingerprints);
    const { ids } = this.directory;
    const blocksOf = fingerprints.map((_, i) => blocksOfWord(ids, words[4 * i]));
    const needed = distinct(blocksOf.flat());
    const pages = await this.pin<IdPage>(needed, (_, plaintext) => {
      const entries = toWords(plaintext);
      return { entries, bytes: entries.byteLength };
    });
    const pageOf = new Map(needed.map((block, i) => [block, pages[i]]));
    try {
      return blocksOf.map((blocks, i) => {
        const [w0, w1, w2, w3] = words.subarray(4 * i, 4 * i + 4);
        for (const block of blocks) {
          const { entries } = pageOf.get(block) as IdPage;
          const row = findEntry(entries, w0, w1, w2, w3);
          if (row !== -1) return row;
        }
        return -1;
      });
    } finally {
      this.unpin(needed);
    }
  }

  /** The whole id table, kept while the segment is open. */
  entries(): Promise<Uint32Array> {
    this.#entries ??= this.#readEntries().catch((error: unknown) => {
      this.#entries = undefined;
      throw error;
    });
    return this.#entries;
  }

  async #readEntries(): Promise<Uint32Array> {
    const blocks = await this.#source.read(this.directory.ids);
    const bytes = blocks.reduce((sum, block) => sum + block.length, 0);
    const entries = new Uint32Array(bytes / 4);
    let at = 0;
    for (const block of blocks) {
      new Uint8Array(entries.buffer).set(block, at);
      at += block.length;
    }
    return entries;
  }

  async #parts(blocks: readonly RowBlock[], rows: readonly number[]): Promise<(Uint8Array | null)[]> {
    const blocksOf = rows.map((row) => blockOfRow(blocks, row));
    const needed = distinct(blocksOf);
    const pages = await this.pin<Page>(needed, (block, plaintext) => ({
      parts: decodePage(plaintext, (block as RowBlock).rows),
      bytes: plaintext.length,
    }));
    const pageOf = new Map(needed.map((block, i) => [block, pages[i]]));
    this.unpin(needed);
    return rows.map((row, i) => (pageOf.get(blocksOf[i]) as Page).parts[row - blocksOf[i].firstRow]);
  }

  /** What `decode` makes of blocks, through the cache and pinned; call `unpin` with the same blocks when done. */
  pin<T extends CachedBlock>(
    blocks: readonly Block[],
    decode: (block: Block, plaintext: Uint8Array) => T,
  ): Promise<T[]> {
    return this.#cache.pin(blocks, async (missing) => {
      const plaintexts = await this.#source.read(missing as readonly Block[]);
      return plaintexts.map((plaintext, i) => decode(missing[i] as Block, plaintext));
    });
  }
}

function toWords(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(bytes.length / 4);
  new Uint8Array(words.buffer).set(bytes);
  return words;
}
