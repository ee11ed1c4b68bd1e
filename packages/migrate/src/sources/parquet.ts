/** A Parquet file, with a row per item. */

import zlib from "node:zlib";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { type FieldNames, splitFields } from "../fields.js";
import { invalid, type Source } from "../source.js";
import { versionOf } from "./file-reader.js";

/** No page becomes longer than the file says. */
const limited = (bytes: number) => ({ maxOutputLength: Math.max(1, bytes) });
const compressors = {
  GZIP: (input: Uint8Array, bytes: number) => zlib.gunzipSync(input, limited(bytes)),
  BROTLI: (input: Uint8Array, bytes: number) => zlib.brotliDecompressSync(input, limited(bytes)),
  ZSTD: (input: Uint8Array, bytes: number) => zlib.zstdDecompressSync(input, limited(bytes)),
};

export function parquetSource(path: string, names: FieldNames): Source {
  const refuse = (cause: unknown): never => {
    throw invalid(`${path}: it cannot be read as Parquet; it ends early, or is of another kind`, cause);
  };
  const open = async () => {
    const file = await asyncBufferFromFile(path);
    const metadata = await parquetMetadataAsync(file).catch(refuse);
    const groups = metadata.row_groups.map(({ num_rows }) => Number(num_rows));
    const count = groups.reduce((sum, rows) => sum + rows, 0);
    if (count !== Number(metadata.num_rows)) throw invalid(`${path}: it has not as many rows as it says`);
    return { file, metadata, groups, count };
  };
  return {
    name: `parquet:${path}`,
    describe: async () => ({
      rows: (await open()).count,
      metric: undefined,
      version: await versionOf(path),
    }),
    /** A group at once: to read a part of it, all its vectors are decoded. */
    async *rows(after: number = 0) {
      const { file, metadata, groups } = await open();
      let rowEnd = 0;
      for (const rows of groups) {
        const rowStart = Math.max(after, rowEnd);
        rowEnd += rows;
        if (rowStart >= rowEnd) continue;
        const part = { file, metadata, rowStart, rowEnd, compressors };
        const records = await parquetReadObjects(part).catch(refuse);
        if (records.length < rowEnd - rowStart) throw invalid(`${path}: it has not as many rows as it says`);
        for (const [i, record] of records.entries()) {
          yield { ...splitFields(record, names), cursor: rowStart + i + 1 };
        }
      }
    },
  };
}
