/** A Parquet file, with a row per item. */

import zlib from "node:zlib";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { type FieldNames, splitFields } from "../fields.js";
import type { Source } from "../source.js";
import { versionOf } from "./file-reader.js";

const chunkRows = 1000;

const compressors = {
  GZIP: (input: Uint8Array) => zlib.gunzipSync(input),
  BROTLI: (input: Uint8Array) => zlib.brotliDecompressSync(input),
  ZSTD: (input: Uint8Array) => zlib.zstdDecompressSync(input),
};

export function parquetSource(path: string, names: FieldNames): Source {
  const open = async () => {
    const file = await asyncBufferFromFile(path);
    const metadata = await parquetMetadataAsync(file);
    return { file, metadata, count: Number(metadata.num_rows) };
  };
  return {
    name: `parquet:${path}`,
    describe: async () => ({
      rows: (await open()).count,
      metric: undefined,
      version: await versionOf(path),
    }),
    async *rows(after: number = 0) {
      const { file, metadata, count } = await open();
      for (let rowStart = after; rowStart < count; rowStart += chunkRows) {
        const rowEnd = Math.min(rowStart + chunkRows, count);
        const records = await parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors });
        for (const [i, record] of records.entries()) {
          yield { ...splitFields(record, names), cursor: rowStart + i + 1 };
        }
      }
    },
  };
}
