/** Files for ingests, of rows that say which they are. */

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { parquetWriteBuffer } from "hyparquet-writer";

export interface InputRow {
  readonly id: string;
  readonly vector: readonly number[];
  readonly contents: string;
  readonly metadata: { readonly i: number };
}

export function inputRow(i: number): InputRow {
  // Lengths differ, so that parts begin anywhere in a line.
  return { id: `r${i}`, vector: [i, i % 7, 1], contents: `row ${"é".repeat(i % 13)}${i}`, metadata: { i } };
}

export function rowsFrom(first: number, count: number): InputRow[] {
  return Array.from({ length: count }, (_, k) => inputRow(first + k));
}

export function jsonLines(rows: readonly InputRow[]): string {
  return rows.map((row) => JSON.stringify(row)).join("\n");
}

/** With the names and types of other programs: 64-bit integers, a column for a field of the metadata. */
export function parquet(rows: readonly InputRow[], rowGroupSize: number, codec?: "GZIP"): Uint8Array {
  const file = parquetWriteBuffer({
    rowGroupSize,
    ...(codec && { codec, compressors: { GZIP: (bytes: Uint8Array) => new Uint8Array(gzipSync(bytes)) } }),
    columnData: [
      { name: "id", data: rows.map(({ id }) => id) },
      { name: "embedding", data: rows.map(({ vector }) => [...vector]) },
      { name: "text", data: rows.map(({ contents }) => contents) },
      { name: "i", data: rows.map(({ metadata }) => BigInt(metadata.i)) },
    ],
    schema: [
      { name: "root", num_children: 4 },
      { name: "id", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "REQUIRED" },
      { name: "embedding", converted_type: "LIST", num_children: 1, repetition_type: "OPTIONAL" },
      { name: "list", num_children: 1, repetition_type: "REPEATED" },
      { name: "element", type: "FLOAT", repetition_type: "OPTIONAL" },
      { name: "text", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" },
      { name: "i", type: "INT64", repetition_type: "OPTIONAL" },
    ],
  });
  return new Uint8Array(file);
}

/** A file of each format, and others that are not read. `rows`: those of all files. */
export function inputFiles(rows: number): {
  readonly files: Map<string, Uint8Array>;
  readonly rows: InputRow[];
} {
  const quarter = Math.floor(rows / 4);
  const bytes = (text: string) => new TextEncoder().encode(text);
  const files = new Map([
    ["a.jsonl", bytes(jsonLines(rowsFrom(0, quarter)))],
    ["deep/er/b.jsonl.gz", new Uint8Array(gzipSync(jsonLines(rowsFrom(quarter, quarter))))],
    ["deep/c.ndjson", bytes(`\n${jsonLines(rowsFrom(2 * quarter, quarter))}\n`)],
    ["d.parquet", parquet(rowsFrom(3 * quarter, quarter), 10)],
    ["_SUCCESS", bytes("")],
    ["readme.txt", bytes("not a row")],
    ["empty.jsonl", bytes("")],
  ]);
  return { files, rows: rowsFrom(0, 4 * quarter) };
}

export async function writeFiles(folder: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  for (const [name, bytes] of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), bytes);
  }
}
