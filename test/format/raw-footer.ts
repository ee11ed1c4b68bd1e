/** A segment's footer as it is stored (docs/internals/format.md §4), of which any number can be changed. */

import type { Json } from "./stored-parts.js";

interface Entry {
  rows: number;
  length: number;
}

interface CodeEntry extends Entry {
  /** The list, minus that of the block before. */
  listStep: number;
  radius: number;
}

interface RowEntry extends Entry {
  firstRow: number;
}

export interface RawFooter {
  dimension: number;
  rows: number;
  codes: CodeEntry[];
  records: Entry[];
  contents: Entry[];
  sortedIds: RowEntry[];
  columns: RowEntry[];
  ids: { length: number; firstWord: number }[];
  texts: Json;
  /** The stored count of each section; undefined: the real one. */
  counts: (number | undefined)[];
}

export function decodeRawFooter(bytes: Uint8Array): RawFooter {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  const word = () => view.readUInt32LE((at += 4) - 4);
  const varint = () => {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = view[at++];
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  };
  const [dimension, rows, nCodes, nRecords, nContents, nSorted, nColumns, nIds, textLength] = Array.from(
    { length: 9 },
    word,
  );
  const entries = <E extends Entry>(n: number, own: (entry: Entry) => E): E[] => {
    const lengths = new Map<number, number>();
    return Array.from({ length: n }, () => {
      const count = varint();
      const length = varint() || (lengths.get(count) as number);
      lengths.set(count, length);
      return own({ rows: count, length });
    });
  };
  const codes = entries(nCodes, (entry) => {
    const listStep = varint();
    at += 2;
    return { ...entry, listStep, radius: view.readUInt16LE(at - 2) };
  });
  const records = entries(nRecords, (entry) => entry);
  const contents = entries(nContents, (entry) => entry);
  const rowEntry = () => ({ length: word(), firstRow: word(), rows: word() });
  const sortedIds = Array.from({ length: nSorted }, rowEntry);
  const columns = Array.from({ length: nColumns }, rowEntry);
  const ids = Array.from({ length: nIds }, () => ({ length: word(), firstWord: word() }));
  const texts = JSON.parse(view.toString("utf8", at, at + textLength)) as Json;
  return { dimension, rows, codes, records, contents, sortedIds, columns, ids, texts, counts: [] };
}

export function encodeRawFooter(footer: RawFooter): Uint8Array {
  const { dimension, rows, codes, records, contents, sortedIds, columns, ids, texts, counts } = footer;
  const tail = Buffer.from(JSON.stringify(texts));
  const sections = [codes, records, contents, sortedIds, columns, ids];
  const lengths = [...sections.map((section) => section.length), tail.length];
  const head = [dimension, rows, ...lengths.map((length, i) => counts[i] ?? length)];
  const entries: number[] = [];
  const varint = (value: number) => {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) entries.push((rest % 128) + 128);
    entries.push(rest);
  };
  for (const { rows: count, length, listStep, radius } of codes) {
    for (const value of [count, length, listStep]) varint(value);
    entries.push(radius & 255, radius >>> 8);
  }
  for (const { rows: count, length } of [...records, ...contents])
    for (const value of [count, length]) varint(value);
  const words = [
    ...[...sortedIds, ...columns].flatMap(({ length, firstRow, rows: count }) => [length, firstRow, count]),
    ...ids.flatMap(({ length, firstWord }) => [length, firstWord]),
  ];
  return Buffer.concat([wordsOf(head), Uint8Array.from(entries), wordsOf(words), tail]);
}

function wordsOf(values: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(values).buffer);
}

/** Names of the sections, in the order of their blocks. */
export const sectionNames = [
  "codes",
  "second lists",
  "records",
  "contents",
  "lengths",
  "postings",
  "dictionary",
  "sorted ids",
  "columns",
  "expiries",
  "id table",
] as const;
export type SectionName = (typeof sectionNames)[number];

/** Where the sealed length of a block is. */
interface BlockEntry {
  readonly section: SectionName;
  /** Within the section. */
  readonly i: number;
  get(): number;
  set(length: number): void;
}

/** Of each block but the footer, in their order. */
export function blockEntries({
  codes,
  records,
  contents,
  sortedIds,
  columns,
  ids,
  texts,
}: RawFooter): BlockEntry[] {
  const inObjects = (section: SectionName, entries: readonly { length: number }[]) =>
    entries.map((entry, i) => ({
      section,
      i,
      get: () => entry.length,
      set: (length: number) => void (entry.length = length),
    }));
  const inLists = (section: SectionName, list: unknown) => {
    const values: Json[] = Array.isArray(list) ? list : [];
    return values.map((value, i) => ({
      section,
      i,
      get: () => (Array.isArray(value) ? value[0] : value) as number,
      set(length: number) {
        if (Array.isArray(value)) value[0] = length;
        else values[i] = length;
      },
    }));
  };
  const { spilled, terms, expiries } = texts ?? {};
  return [
    ...inObjects("codes", codes),
    ...inLists("second lists", spilled),
    ...inObjects("records", records),
    ...inObjects("contents", contents),
    ...inLists("lengths", terms?.lengths),
    ...inLists("postings", terms?.postings),
    ...inLists("dictionary", terms?.dictionary),
    ...inObjects("sorted ids", sortedIds),
    ...inObjects("columns", columns),
    ...inLists("expiries", expiries),
    ...inObjects("id table", ids),
  ];
}
