/** Stores items from lines of JSON. */

import { invalid } from "../../checks/input.js";
import { optionNames, takeOptions } from "../../checks/option-names.js";
import { shiftPosition } from "../../errors.js";
import type { VectorIndex } from "../vector-index.js";
import { ingest, type IngestItem, type IngestOptions, type IngestResult } from "./ingest.js";
import { decodeLine } from "./item-line.js";

/** Options of `importItems`. */
export interface ImportOptions extends Omit<IngestOptions, "items" | "onProgress"> {
  readonly to: VectorIndex;
  /** Text or UTF-8 bytes: a file's stream, or the result of `exportItems`. */
  readonly lines: TextSource;
  /** The first line to store, from 1, to resume an interrupted import. Default 1. */
  readonly fromLine?: number;
  /** Called after each stored batch. */
  readonly onProgress?: (progress: ImportProgress) => void;
}

/** Progress of `importItems`. */
export interface ImportProgress extends IngestResult {
  /** Lines stored so far. To resume, pass the next line as `fromLine`. */
  readonly lines: number;
}

const options = optionNames<ImportOptions>("importItems", {
  to: true,
  lines: true,
  fromLine: true,
  batchSize: true,
  skipUnchanged: true,
  onProgress: true,
  signal: true,
});

/**
 * Stores the items of all lines, replacing those with the same ids; see `ingest`. Empty lines are
 * skipped. An invalid line ends the import with `invalid_request` and the line's number; reported
 * batches stay stored. Importing lines twice has the same effect as importing them once.
 */
export async function importItems(request: ImportOptions): Promise<ImportProgress> {
  request = takeOptions(request, options);
  const { lines, fromLine = 1, onProgress, ...others } = request;
  if (!Number.isInteger(fromLine) || fromLine < 1) throw invalid("fromLine: expected an integer from 1");
  /** Line numbers of the items that are not reported yet. */
  const numbers: number[] = [];
  let done = fromLine - 1;
  async function* items(): AsyncGenerator<IngestItem> {
    for await (const { text, number } of linesOf(lines)) {
      if (number < fromLine || text.trim() === "") continue;
      const item = decodeLine(text, `line ${number}`);
      numbers.push(number);
      yield item;
    }
  }
  let reported = 0;
  const report = (progress: IngestResult) => {
    const [last] = numbers.splice(0, progress.items - reported).slice(-1);
    done = last ?? done;
    reported = progress.items;
    onProgress?.({ ...progress, lines: done });
  };
  try {
    const result = await ingest({ ...others, items: items(), onProgress: report });
    return { ...result, lines: done };
  } catch (error) {
    throw shiftPosition(error, (i) => `line ${numbers[i - reported]}`);
  }
}

// Splits a stream of text or UTF-8 bytes into lines.

export interface Line {
  readonly text: string;
  /** From 1. */
  readonly number: number;
}

export type TextSource = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

/** In characters. An item of 8,192 numbers with escaped contents and metadata is shorter. */
const lineMax = 16 * 1024 * 1024;

/**
 * Splits at line feeds only: JSON texts may contain other line separators. The last line may lack
 * one. Throws `invalid_request` if a line is too long or not UTF-8; `where` names it by its number.
 */
export async function* linesOf(
  source: TextSource,
  where = (line: number) => `line ${line}`,
): AsyncGenerator<Line> {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  let number = 1;
  let held = "";
  const decode = (chunk?: string | Uint8Array) => {
    if (typeof chunk === "string") return chunk;
    try {
      return utf8.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw invalid(`${where(number)}: expected UTF-8, got other bytes there or soon after`);
    }
  };
  for await (const chunk of source) {
    const pieces = decode(chunk).split("\n");
    pieces[0] = held + pieces[0];
    held = pieces.pop() ?? "";
    for (const text of pieces) yield { text, number: number++ };
    if (held.length > lineMax)
      throw invalid(`${where(number)}: expected at most ${lineMax} characters, got more`);
  }
  held += decode();
  if (held !== "") yield { text: held, number };
}
