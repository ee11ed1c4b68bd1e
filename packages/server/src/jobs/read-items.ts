/** Reads the rows that begin in a range of a file: lines of JSON, or the row groups of Parquet. */

import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import type { AsyncBuffer } from "hyparquet";
import { SealdexError } from "sealdex/core";
import { itemOfFields, decodeLine, type IngestItem, invalid, linesOf, withOwnNames } from "sealdex/wire";
import type { InputFile } from "./input-files.js";
import type { InputRange } from "./split-input.js";

interface InputItem {
  readonly item: IngestItem;
  /** Where it is, for errors. */
  readonly where: string;
}

/** Throws `invalid_request` for a row that is no item or has no id. */
export function itemsIn(range: InputRange): AsyncGenerator<InputItem> {
  return range.file.name.endsWith(".parquet") ? itemsOfGroups(range) : itemsOfLines(range);
}

/** A part that runs again must store a row under the same id. */
const noId = (where: string) => () => {
  throw invalid(`${where}: expected an id, without which a repeated part stores the row twice`);
};

async function* itemsOfLines(range: InputRange): AsyncGenerator<InputItem> {
  const { name } = range.file;
  const isCompressed = name.endsWith(".gz");
  // Readable from its beginning alone.
  if (isCompressed && range.start > 0) return;
  const from = isCompressed || range.start === 0 ? "" : ` after byte ${range.start}`;
  const placeOf = (line: number) => `${name}, line ${line}${from}`;
  const bytes = isCompressed ? decompressed(range.file) : bytesOfLines(range);
  for await (const { text, number } of linesOf(bytes, placeOf)) {
    if (text.trim() === "") continue;
    const where = placeOf(number);
    yield { item: decodeLine(text, where, noId(where)), where };
  }
}

async function* decompressed(file: InputFile): AsyncGenerator<Uint8Array> {
  try {
    yield* pipeline(file.stream(0, file.bytes), createGunzip(), () => undefined);
  } catch (error) {
    throw error instanceof SealdexError ? error : invalid(`${file.name}: expected gzip`);
  }
}

const lineFeed = 10;

/** The lines that begin in the range. */
async function* bytesOfLines({ file, start, end }: InputRange): AsyncGenerator<Uint8Array> {
  // A line that begins at `start` follows a line feed.
  let position = Math.max(start - 1, 0);
  let isInside = start === 0;
  for await (let chunk of file.stream(position, file.bytes)) {
    if (!isInside) {
      const skipped = chunk.indexOf(lineFeed) + 1;
      isInside = skipped > 0;
      position += isInside ? skipped : chunk.length;
      if (position >= end) return;
      if (!isInside) continue;
      chunk = chunk.subarray(skipped);
    }
    const last = chunk.indexOf(lineFeed, Math.max(end - 1 - position, 0));
    if (last >= 0) {
      yield chunk.subarray(0, last + 1);
      return;
    }
    yield chunk;
    position += chunk.length;
  }
}

async function* itemsOfGroups({ file, start, end }: InputRange): AsyncGenerator<InputItem> {
  const { parquetMetadataAsync, parquetReadObjects } = await import("hyparquet");
  const { compressors } = await import("hyparquet-compressors");
  const buffer: AsyncBuffer = {
    byteLength: file.bytes,
    slice: async (from, to = file.bytes) => {
      const bytes = new Uint8Array(to - from);
      let filled = 0;
      for await (const chunk of file.stream(from, to)) {
        bytes.set(chunk, filled);
        filled += chunk.length;
      }
      if (filled < bytes.length) throw notParquet(file);
      return bytes.buffer;
    },
  };
  const metadata = await asParquet(file, parquetMetadataAsync(buffer));
  let rowStart = 0;
  for (const { columns, num_rows: count } of metadata.row_groups) {
    const rowEnd = rowStart + Number(count);
    const begins = Number(columns[0]?.meta_data?.data_page_offset ?? -1);
    if (!(begins >= 0 && begins < file.bytes)) throw notParquet(file);
    if (begins >= start && begins < end) {
      const options = { file: buffer, metadata, rowStart, rowEnd, compressors };
      const rows = await asParquet(file, parquetReadObjects(options));
      for (const [i, row] of rows.entries()) {
        const where = `${file.name}, row ${rowStart + i + 1}`;
        yield { item: itemOfFields(fieldsOf(row, where), where, noId(where)), where };
      }
    }
    rowStart = rowEnd;
  }
}

async function asParquet<T>(file: InputFile, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw error instanceof SealdexError ? error : notParquet(file, error);
  }
}

function notParquet({ name }: InputFile, cause?: unknown): SealdexError {
  return new SealdexError("invalid_request", `${name}: expected a Parquet file that is whole`, { cause });
}

/** Columns that are no fields of items join the metadata, which may be JSON. */
function fieldsOf(row: Record<string, unknown>, where: string): Record<string, unknown> {
  const present = Object.entries(row).filter(([, value]) => (value ?? undefined) !== undefined);
  const named = withOwnNames(Object.fromEntries(present));
  const { id, vector, contents, metadata, namespace, expiresAt, ...others } = named;
  const both = { ...objectOf(metadata ?? {}, `${where}.metadata`), ...others };
  const fields = {
    id: typeof id === "bigint" || typeof id === "number" ? String(id) : id,
    vector,
    contents,
    namespace,
    expiresAt: jsonOf(expiresAt),
    ...(Object.keys(both).length > 0 && { metadata: jsonOf(both) }),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function objectOf(value: unknown, where: string): object {
  let object = value;
  try {
    if (typeof value === "string") object = JSON.parse(value);
  } catch {
    // Refused below, without the text.
  }
  if (Object.prototype.toString.call(object) === "[object Object]") return object as object;
  throw invalid(`${where}: expected an object, or one as JSON`);
}

/** Integers that a number cannot hold become texts. */
function jsonOf(value: unknown): unknown {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value, (_, each: unknown) =>
    typeof each !== "bigint" ? each : Number.isSafeInteger(Number(each)) ? Number(each) : String(each),
  );
  return JSON.parse(text);
}
