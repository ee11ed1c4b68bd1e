/** A Parquet file, with a row per item. */

import zlib from "node:zlib";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { type FieldNames, splitFields } from "../fields.js";
import type { Row, Source, SourceDescription } from "../source.js";
import { versionOf } from "./file-reader.js";

const chunkRows = 1000;

const compressors = {
  GZIP: (input: Uint8Array) => zlib.gunzipSync(input),
  BROTLI: (input: Uint8Array) => zlib.brotliDecompressSync(input),
  ZSTD: (input: Uint8Array) => zlib.zstdDecompressSync(input),
};

export class ParquetSource implements Source {
  readonly name: string;
  readonly #path: string;
  readonly #names: FieldNames;

  constructor(path: string, names: FieldNames) {
    this.name = `parquet:${path}`;
    this.#path = path;
    this.#names = names;
  }

  async describe(): Promise<SourceDescription> {
    const metadata = await parquetMetadataAsync(await asyncBufferFromFile(this.#path));
    return {
      rows: Number(metadata.num_rows),
      metric: undefined,
      version: await versionOf(this.#path),
    };
  }

  async *rows(after: number = 0): AsyncGenerator<Row, void, undefined> {
    const file = await asyncBufferFromFile(this.#path);
    const metadata = await parquetMetadataAsync(file);
    const count = Number(metadata.num_rows);
    for (let rowStart = after; rowStart < count; rowStart += chunkRows) {
      const rowEnd = Math.min(rowStart + chunkRows, count);
      const records = await parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors });
      for (const [i, record] of records.entries()) {
        yield { ...splitFields(record, this.#names), cursor: rowStart + i + 1 };
      }
    }
  }
}
