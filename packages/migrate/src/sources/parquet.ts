/** A Parquet file, with a row per item. */

import zlib from "node:zlib";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { type FieldNames, splitFields } from "../fields.js";
import { invalid, type Source } from "../source.js";
import { versionOf } from "./file-reader.js";

const chunkRows = 1000;

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
        const part = { file, metadata, rowStart, rowEnd, compressors };
        const records = await parquetReadObjects(part).catch(refuse);
        if (records.length < rowEnd - rowStart) throw invalid(`${path}: it has fewer rows than it says`);
        for (const [i, record] of records.entries()) {
          yield { ...splitFields(record, names), cursor: rowStart + i + 1 };
        }
      }
    },
  };
}
