/** Fields of rows, read from their segments. */

import {
  decodeContents,
  idEndAt,
  recordExpiry,
  recordId,
  recordIdAt,
  recordMetadata,
  recordMetadataJson,
} from "../state/segment/row.js";
import type { RowBlock } from "../state/segment/block.js";
import type { OpenRecords } from "../state/segment/segment-reader.js";
import { run, type Task, waitFor } from "../engine/threads/run.js";
import { forEachYielding, isPauseDue } from "../async/event-loop.js";
import { currentProfile, enterStage } from "../async/profile.js";
import type { RawMetadata, ResultSettings } from "../api/served-index.js";
import type { MatchField, StoredItem } from "../api/vector-index.js";
import { bySegment, type RowRef } from "./snapshot/snapshot.js";

/** The stored parts of one row that were asked for. */
interface StoredRow {
  /** The name of the item's namespace, if it is in one. */
  readonly namespace: string | undefined;
  readonly record: Uint8Array;
  readonly contents?: Uint8Array | null;
  readonly vector?: Float32Array;
}

/** One read: rows, and about the stored bytes of the blocks that hold them. */
const rowsTogether = 1024;
const bytesTogether = 16 * 1024 * 1024;
/** Items that are decoded between two looks at the clock, if they have contents or metadata, and if they have not. */
const largeTogether = 4;
const smallTogether = 64;
/** Decoded between two checks of the clock: rows, and bytes. */
const decodedRowsMax = 256;
const decodedBytesMax = 256 * 1024;
/** Bytes of memory of an item besides its fields. */
const itemBytes = 128;

export type CheckedResults = ResultSettings;

/** The same results, for which nothing is reserved before `confirm` resolves. */
export function reservedAfter<T extends CheckedResults>(confirm: () => Promise<void>, results: T): T {
  const { reserveBytes } = results;
  if (reserveBytes === undefined) return results;
  return {
    ...results,
    async reserveBytes(bytes: number) {
      await confirm();
      await reserveBytes(bytes);
    },
  };
}

/**
 * The items at these refs, in their order, with the fields asked for. `reserveBytes` is awaited before the fields of
 * some of them are decoded; its errors end the reading.
 */
export function* readItems(
  refs: readonly RowRef[],
  include: ReadonlySet<MatchField>,
  results: CheckedResults,
): Task<StoredItem[]> {
  enterStage("fetch");
  const hasIdsAlone = !include.has("metadata") && !include.has("contents") && !needsVectors(include);
  if (hasIdsAlone && results.reserveBytes === undefined && refs.length <= decodedRowsMax) {
    const opened = openedIds(refs);
    if (opened !== undefined) {
      noteOpened(refs, 0, refs.length, include);
      return opened;
    }
  }
  const items: StoredItem[] = [];
  while (items.length < refs.length) yield* readSome(items, refs, include, results);
  return items;
}

/** The items without any field, if their records are open. */
function openedIds(refs: readonly RowRef[]): StoredItem[] | undefined {
  // All places before the first text: so the waits for memory overlap.
  const places: RecordPlace[] = [];
  // Near rows are often of the same list, and so of the same page.
  let last: RowRef["segment"] | undefined;
  let records: OpenRecords | undefined;
  for (const { segment, row } of refs) {
    const isThere =
      segment === last && records !== undefined && row >= records.firstRow && row < records.endRow;
    if (!isThere) records = segment.reader.openedRecords(row);
    if (records === undefined) return undefined;
    last = segment;
    const { plaintext } = records.page;
    const start = records.page.startOf(row - records.firstRow);
    places.push({ namespace: segment.namespace, plaintext, start, end: idEndAt(plaintext, start) });
  }
  return places.map(({ namespace, plaintext, start, end }) => {
    const id = recordIdAt(plaintext, start, end);
    return namespace === undefined ? { id } : { id, namespace };
  });
}

/** Where the id of a record begins, after its length, and ends. */
interface RecordPlace {
  readonly namespace: string | undefined;
  readonly plaintext: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/**
 * Visits the items at these refs in their order, with their metadata as text. Few enough to be held are in memory at a time, and
 * other work runs in between.
 */
export async function forEachItem(
  refs: readonly RowRef[],
  include: ReadonlySet<MatchField>,
  visit: (item: StoredItem & RawMetadata, i: number) => void,
): Promise<void> {
  for (let start = 0; start < refs.length;) {
    const some: StoredItem[] = [];
    await run(readSome(some, refs.slice(start, start + rowsTogether), include, { rawMetadata: true }));
    await forEachYielding(some.length, (i) => visit(some[i], start + i), largeTogether);
    start += some.length;
  }
}

/** Adds the next of the items of these rows: those that are read together. */
export function* readSome(
  items: StoredItem[],
  refs: readonly RowRef[],
  include: ReadonlySet<MatchField>,
  { reserveBytes, rawMetadata }: CheckedResults,
): Task<void> {
  const start = items.length;
  const rows =
    openedRows(refs, include, start) ??
    (yield* waitFor(readRows(refs.slice(start, endOfGroup(refs, include, start)), include)));
  const bytes = rows.reduce((sum, row) => sum + bytesOf(row, include), 0);
  if (reserveBytes !== undefined) yield* waitFor(Promise.resolve(reserveBytes(bytes)));
  const takesTime = rows.length > decodedRowsMax || bytes > decodedBytesMax;
  const together = include.has("contents") || include.has("metadata") ? largeTogether : smallTogether;
  const shown = shownFields(include, rawMetadata);
  for (let i = 0; i < rows.length; i++) {
    if (takesTime && i % together === together - 1 && isPauseDue()) yield;
    items.push(toItem(rows[i], shown));
  }
}

/** Where the group of refs ends that are read together: many enough to wait for storage once, few enough to be held. */
function endOfGroup(refs: readonly RowRef[], include: ReadonlySet<MatchField>, start: number): number {
  const blocks = new Set<RowBlock>();
  let bytes = 0;
  let end = start;
  for (; end < refs.length && end - start < rowsTogether && bytes < bytesTogether; end++) {
    const { segment, row } = refs[end];
    for (const block of blocksOf(segment.reader.footer, row, include)) {
      if (!blocks.has(block)) bytes += block.length;
      blocks.add(block);
    }
    if (needsVectors(include)) bytes += 4 * segment.reader.footer.dimension;
  }
  return end;
}

function blocksOf(
  { records, contents }: RowRef["segment"]["reader"]["footer"],
  row: number,
  include: ReadonlySet<MatchField>,
): RowBlock[] {
  return [records, ...(include.has("contents") ? [contents] : [])].map((pages) => pages.ofRow(row));
}

/** Adds the blocks of the rows from `start` to `end`, which are in memory, to the profile. */
function noteOpened(
  refs: readonly RowRef[],
  start: number,
  end: number,
  include: ReadonlySet<MatchField>,
): void {
  const profile = currentProfile();
  if (profile === undefined) return;
  const blocks = refs
    .slice(start, end)
    .flatMap(({ segment, row }) => blocksOf(segment.reader.footer, row, include));
  profile.add({ cacheHits: new Set(blocks).size });
}

/**
 * The rows from `start` that may be held together, if their records, contents and vectors are open, and
 * the vectors so few that decoding them takes no time.
 */
function openedRows(
  refs: readonly RowRef[],
  include: ReadonlySet<MatchField>,
  start: number,
): readonly StoredRow[] | undefined {
  const hasContents = include.has("contents");
  const rows: StoredRow[] = [];
  let bytes = 0;
  for (let at = start; at < refs.length && rows.length < rowsTogether && bytes < bytesTogether; at++) {
    const { segment, row } = refs[at];
    const record = segment.reader.openedRecord(row);
    const contents = hasContents ? segment.reader.openedContents(row) : null;
    if (record === undefined || contents === undefined) return undefined;
    bytes += record.length + (contents?.length ?? 0);
    rows.push({ namespace: segment.namespace, record, contents });
  }
  noteOpened(refs, start, start + rows.length, include);
  return needsVectors(include) ? withOpenedVectors(refs.slice(start, start + rows.length), rows) : rows;
}

function withOpenedVectors(
  refs: readonly RowRef[],
  rows: readonly StoredRow[],
): readonly StoredRow[] | undefined {
  const bytes = refs.reduce((sum, { segment }) => sum + 4 * segment.reader.footer.dimension, 0);
  if (bytes > decodedBytesMax) return undefined;
  const all: StoredRow[] = [...rows];
  for (const [{ reader }, group] of bySegment(refs.map((ref, at) => ({ ...ref, at })))) {
    const vectors = reader.openedVectors(group.map(({ row }) => row));
    if (vectors === undefined) return undefined;
    group.forEach(({ at }, i) => (all[at] = { ...rows[at], vector: vectors[i] }));
  }
  return all;
}

async function readRows(
  refs: readonly RowRef[],
  include: ReadonlySet<MatchField>,
): Promise<readonly StoredRow[]> {
  const rows: StoredRow[] = Array.from({ length: refs.length });
  const numbered = refs.map((ref, at) => ({ ...ref, at }));
  const reads = Array.from(bySegment(numbered), async ([{ reader, namespace }, group]) => {
    const wanted = group.map(({ row }) => row);
    const [records, contents, vectors] = await Promise.all([
      reader.records(wanted),
      include.has("contents") ? reader.contents(wanted) : undefined,
      needsVectors(include) ? reader.vectors(wanted) : undefined,
    ]);
    group.forEach(({ at }, i) => {
      rows[at] = {
        namespace,
        record: records[i],
        ...(contents && { contents: contents[i] }),
        ...(vectors && { vector: vectors[i] }),
      };
    });
  });
  await Promise.all(reads);
  return rows;
}

function needsVectors(include: ReadonlySet<MatchField>): boolean {
  return include.has("vector") || include.has("decoded");
}

/** The id is part of the record, which is counted whole if metadata are asked for. */
function bytesOf({ record, contents, vector }: StoredRow, include: ReadonlySet<MatchField>): number {
  const recordBytes = include.has("metadata") ? record.length : 0;
  return itemBytes + recordBytes + (contents?.length ?? 0) + (vector?.byteLength ?? 0);
}

/** While it is made. */
export type Writable<T> = { -readonly [F in keyof T]: T[F] };

/** Which fields items have, looked up once for all of them. */
interface ShownFields {
  readonly vector: boolean;
  readonly decoded: boolean;
  readonly metadata: "parsed" | "raw" | undefined;
}

function shownFields(include: ReadonlySet<MatchField>, rawMetadata = false): ShownFields {
  const form = rawMetadata ? "raw" : "parsed";
  return {
    vector: include.has("vector"),
    decoded: include.has("decoded"),
    metadata: include.has("metadata") ? form : undefined,
  };
}

function toItem({ namespace, record, contents, vector }: StoredRow, shown: ShownFields): StoredItem {
  const item: Writable<StoredItem & RawMetadata> = { id: recordId(record) };
  if (namespace !== undefined) item.namespace = namespace;
  if (vector && shown.vector) item.vector = vector;
  if (vector && shown.decoded) item.decoded = vector;
  if (contents) item.contents = decodeContents(contents);
  if (shown.metadata === undefined) return item;
  if (shown.metadata === "raw") item.metadataJson = recordMetadataJson(record);
  else item.metadata = recordMetadata(record);
  const expiry = recordExpiry(record);
  if (expiry !== undefined) item.expiresAt = new Date(expiry);
  return item;
}
