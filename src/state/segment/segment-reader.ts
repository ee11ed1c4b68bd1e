/**
 * Reads a segment, block by block, through the cache. Nothing is used before it is authenticated.
 */

import type { ParentKeys } from "../../crypto/sealed-object.js";
import type { Codec } from "../../engine/codes/codec.js";
import { gatherVectors } from "../../engine/codes/gather-vectors.js";
import { SealdexError } from "../../errors.js";
import type { BlobStore } from "../../storage/blob-store.js";
import { yieldIfDue } from "../../async/event-loop.js";
import { distinct, groupsOf, leading } from "./block-requests.js";
import { BlockSource, type SegmentLocation } from "./block-source.js";
import { type CacheGroup, type CacheKey, type CachedValue, namedKey } from "../cache/cache-group.js";
import type { Block, PageBlock } from "./block.js";
import type { BlockTable } from "./block-table.js";
import type { CodeBlock } from "./code-table.js";
import { decodeFooter, footerBytes, blocksOfWord, type Footer } from "./footer.js";
import { findEntry, fingerprintWords } from "./id-table.js";
import type { IndexCache } from "../cache/index-cache.js";
import { IdPage, OpenCodes, OpenIdTable, splitCodes } from "./opened-blocks.js";
import { Page } from "./page.js";
import { contentEntries, recordEntries } from "./row.js";
import { type ReadPage, RowPages } from "./row-pages.js";
import { decodeSecondLists, type SpilledCodes } from "./secondary-codes.js";

const idTableKey = namedKey<OpenIdTable>("id table");
const spilledKey = namedKey<SpilledCodes>("spilled codes");

/** The entries of a section's pages. */
const entriesOf = { records: recordEntries, contents: contentEntries };
type Section = keyof typeof entriesOf;

/** Records of consecutive rows. */
export interface OpenRecords {
  readonly firstRow: number;
  /** The row after the last one. */
  readonly endRow: number;
  readonly page: Page;
}

export class SegmentReader {
  readonly footer: Footer;
  readonly codec: Codec;
  /** Opened parts of the segment, and values that others derive from it. */
  readonly cache: CacheGroup;
  readonly #source: BlockSource;

  private constructor(footer: Footer, codec: Codec, source: BlockSource) {
    this.footer = footer;
    this.codec = codec;
    this.cache = source.cache;
    this.cache.hold(footerBytes(footer));
    this.#source = source;
  }

  /** Reads the end, with the footer. Throws `missing_object` or `corrupt`. */
  static async open(
    keys: ParentKeys,
    location: SegmentLocation,
    codecOf: (dimension: number) => Promise<Codec>,
    store: Pick<BlobStore, "read">,
    cache: IndexCache,
  ): Promise<SegmentReader> {
    const { source, last } = await BlockSource.open(keys, location, store, cache);
    const footer = namingObject(location.context.name, () => decodeFooter(last, location));
    return new SegmentReader(footer, await codecOf(footer.dimension), source);
  }

  /** Code blocks, opened and pinned; call `cache.unpin` with the same blocks when done. */
  pinCodes(blocks: readonly CodeBlock[]): Promise<OpenCodes[]> {
    return this.cache.pin(
      blocks,
      this.#opening(({ rows }: CodeBlock, plaintext) => new OpenCodes(this.codec, plaintext, rows)),
    );
  }

  /** A code block if it is open already, not pinned: valid until the next await. */
  openedCodes(block: CodeBlock): OpenCodes | undefined {
    return this.cache.peek(block);
  }

  /** The id table in kernel memory, opened and pinned; call `unpinTable` when done. */
  async pinTable(): Promise<OpenIdTable> {
    const [table] = await this.cache.pin([idTableKey], async () => [
      await OpenIdTable.open(await this.#source.read(this.footer.ids), this.#source.location),
    ]);
    return table;
  }

  /** The id table if it is in kernel memory already, not pinned: valid until the next await. */
  openedTable(): OpenIdTable | undefined {
    return this.cache.peek(idTableKey);
  }

  unpinTable(): void {
    this.cache.unpin([idTableKey]);
  }

  /** The second list of each row, one of `nLists`. */
  async secondLists(nLists: number): Promise<Uint16Array> {
    const { spilled, rows } = this.footer;
    return decodeSecondLists(await this.#source.read(spilled), rows, nLists);
  }

  /** Keeps codes of the rows in their second lists in the cache, unless it has them. */
  async loadSpilled(compute: () => Promise<SpilledCodes>): Promise<void> {
    await this.cache.load([spilledKey], async () => [await compute()]);
  }

  /** Those codes if they are in kernel memory already, not pinned: valid until the next await. */
  openedSpilled(): SpilledCodes | undefined {
    return this.cache.peek(spilledKey);
  }

  /** Fingerprints and codes of one code block, read past the cache: for passes over everything. */
  async readCodes(block: CodeBlock): Promise<{ fingerprints: Uint32Array; codes: Uint8Array }> {
    const [plaintext] = await this.#source.read([block]);
    const split = splitCodes(this.codec, plaintext, block.rows);
    const fingerprints = new Uint32Array(4 * block.rows);
    new Uint8Array(fingerprints.buffer).set(split.fingerprints);
    return { fingerprints, codes: split.codes.codes };
  }

  /** Plaintexts of ascending blocks, read past the cache. */
  readBlocks(blocks: readonly Block[]): Promise<Uint8Array[]> {
    return this.#source.read(blocks);
  }

  /** Vectors of these rows, as the codec decodes them: bit for bit, unless only codes were kept. */
  async vectors(rows: readonly number[]): Promise<Float32Array[]> {
    const placesOf = this.#placesByBlock(rows);
    const vectors: Float32Array[] = Array.from({ length: rows.length });
    for (const group of groupsOf(distinct([...placesOf.keys()]))) {
      const opened = await this.pinCodes(group);
      try {
        this.#gatherInto(vectors, rows, placesOf, group, opened);
      } finally {
        this.cache.unpin(group);
      }
    }
    return vectors;
  }

  /** The same if the code blocks of these rows are in memory already. */
  openedVectors(rows: readonly number[]): Float32Array[] | undefined {
    const placesOf = this.#placesByBlock(rows);
    const blocks = [...placesOf.keys()];
    const opened: OpenCodes[] = [];
    for (const block of blocks) {
      const codes = this.openedCodes(block);
      if (codes === undefined) return undefined;
      opened.push(codes);
    }
    const vectors: Float32Array[] = Array.from({ length: rows.length });
    this.#gatherInto(vectors, rows, placesOf, blocks, opened);
    return vectors;
  }

  /** Per code block, the places in `rows` of those that it has. */
  #placesByBlock(rows: readonly number[]): ReadonlyMap<CodeBlock, number[]> {
    const placesOf = new Map<CodeBlock, number[]>();
    rows.forEach((row, place) => {
      const block = this.footer.codes.ofRow(row);
      const places = placesOf.get(block);
      if (places === undefined) placesOf.set(block, [place]);
      else places.push(place);
    });
    return placesOf;
  }

  /** Puts the vectors of the rows of these blocks in their places. */
  #gatherInto(
    vectors: Float32Array[],
    rows: readonly number[],
    placesOf: ReadonlyMap<CodeBlock, readonly number[]>,
    blocks: readonly CodeBlock[],
    opened: readonly OpenCodes[],
  ): void {
    const placesIn = blocks.map((block) => placesOf.get(block) as readonly number[]);
    const chosen = blocks.map(({ firstRow }, i) => ({
      codes: opened[i].codes,
      rows: placesIn[i].map((place) => rows[place] - firstRow),
    }));
    const gathered = gatherVectors(this.codec, chosen);
    placesIn.flat().forEach((place, i) => (vectors[place] = gathered[i]));
  }

  /** Records of these rows (see row.ts), as views to be decoded, not kept. */
  async records(rows: readonly number[]): Promise<Uint8Array[]> {
    return (await this.#entries("records", rows)) as Uint8Array[];
  }

  /** The record of a row if it is open already. */
  openedRecord(row: number): Uint8Array | undefined {
    return this.#openedEntry(this.footer.records, row) ?? undefined;
  }

  /** The page with the record of a row if it is open already: valid until the next await. */
  openedRecords(row: number): OpenRecords | undefined {
    const block = this.footer.records.ofRow(row);
    const page = this.cache.peek(block);
    return page && { firstRow: block.firstRow, endRow: block.firstRow + block.rows, page };
  }

  /** The contents of a row if they are open already; null if it has none. */
  openedContents(row: number): Uint8Array | null | undefined {
    return this.#openedEntry(this.footer.contents, row);
  }

  /** Contents of these rows, or null for those that have none. */
  contents(rows: readonly number[]): Promise<(Uint8Array | null)[]> {
    return this.#entries("contents", rows);
  }

  /**
   * Reads records or contents of ascending rows past the cache, a few megabytes at a time: for passes over
   * everything. Each call of the result must continue after the rows of the one before.
   */
  forward(section: Section): (rows: readonly number[]) => Promise<RowPages> {
    const blocks = this.footer[section];
    let held: ReadPage[] = [];
    let next = 0;
    return async (rows) => {
      const last = rows[rows.length - 1];
      held = held.filter(({ block }) => block.firstRow + block.rows > rows[0]);
      while (next < blocks.length && blocks.at(next).firstRow <= last) {
        const group = leading(blocks.from(next));
        next += group.length;
        const pages = await this.#source.read(group);
        const opened = pages.map((page, i) => ({
          block: group[i],
          page: new Page(page, group[i].rows, entriesOf[section]),
        }));
        held.push(...opened.filter(({ block }) => block.firstRow + block.rows > rows[0]));
      }
      return new RowPages(held.filter(({ block }) => block.firstRow <= last));
    };
  }

  /**
   * Rows of items, by fingerprint: a row, `tombstone`, or -1 if the segment has no entry for the item.
   * Reads only the blocks of the id table that can hold them.
   */
  async find(fingerprints: readonly Uint8Array[]): Promise<number[]> {
    const words = fingerprintWords(fingerprints);
    const { ids } = this.footer;
    const blocksOf = fingerprints.map((_, i) => blocksOfWord(ids, words[4 * i]));
    const needed = distinct(blocksOf.flat());
    const pages = await this.load(
      needed,
      ({ firstWord }, plaintext) => new IdPage(plaintext, firstWord, this.footer.rows),
    );
    const pageOf = new Map(needed.map((block, i) => [block, pages[i]]));
    return blocksOf.map((blocks, i) => {
      const [w0, w1, w2, w3] = words.subarray(4 * i, 4 * i + 4);
      for (const block of blocks) {
        const { entries } = pageOf.get(block) as IdPage;
        const row = findEntry(entries, w0, w1, w2, w3);
        if (row !== -1) return row;
      }
      return -1;
    });
  }

  /** Pages of records or contents. */
  loadPages(section: Section, blocks: readonly PageBlock[]): Promise<Page[]> {
    return this.load(blocks, (block, plaintext) => new Page(plaintext, block.rows, entriesOf[section]));
  }

  /** Blocks as `open` opens them, through the cache and in the heap. */
  load<T extends CachedValue, B extends Block & CacheKey<T>>(
    blocks: readonly B[],
    open: (block: B, plaintext: Uint8Array) => T,
  ): Promise<T[]> {
    return this.cache.load(blocks, this.#opening(open));
  }

  /** Reads blocks that are missing from the cache, and opens each. */
  #opening<T extends CachedValue, B extends Block>(
    open: (block: B, plaintext: Uint8Array) => T,
  ): (missing: readonly B[]) => Promise<T[]> {
    const { name } = this.#source.location.context;
    return async (missing) => {
      const plaintexts = await this.#source.read(missing);
      const opened: T[] = [];
      try {
        for (const [i, plaintext] of plaintexts.entries()) {
          opened.push(namingObject(name, () => open(missing[i], plaintext)));
          await yieldIfDue();
        }
        return opened;
      } catch (error) {
        for (const value of opened) value.free?.();
        throw error;
      }
    };
  }

  #openedEntry(blocks: BlockTable<PageBlock>, row: number): Uint8Array | null | undefined {
    const block = blocks.ofRow(row);
    return this.cache.peek(block)?.entry(row - block.firstRow);
  }

  async #entries(section: Section, rows: readonly number[]): Promise<(Uint8Array | null)[]> {
    const blocks = this.footer[section];
    const blocksOf = rows.map((row) => blocks.ofRow(row));
    const needed = distinct(blocksOf);
    const pages = await this.loadPages(section, needed);
    const pageOf = new Map(needed.map((block, i) => [block, pages[i]]));
    return rows.map((row, i) => (pageOf.get(blocksOf[i]) as Page).entry(row - blocksOf[i].firstRow));
  }
}

/** Returns the result of `open`. If that throws `corrupt`, the message begins with the name of the object. */
function namingObject<T>(name: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof SealdexError) || error.code !== "corrupt") throw error;
    throw new SealdexError("corrupt", `stored object ${name}: ${error.message}`, { cause: error });
  }
}
