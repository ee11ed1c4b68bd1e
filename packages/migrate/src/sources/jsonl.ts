/** A file with one JSON object per line. */

import { createReadStream } from "node:fs";
import { type FieldNames, splitFields } from "../fields.js";
import { parseJson } from "../json-values.js";
import { invalid, type Row, type Source } from "../source.js";
import { versionOf } from "./file-reader.js";

/** In characters, as `importItems` of the library. */
const lineMax = 16 * 1024 * 1024;

export function jsonlSource(path: string, names: FieldNames): Source {
  return {
    name: `jsonl:${path}`,
    async describe() {
      let rows = 0;
      for await (const _ of linesOf(path, 0)) rows++;
      return { rows, metric: undefined, version: await versionOf(path) };
    },
    /** The cursor is the number of lines before it. */
    async *rows(after: number = 0) {
      for await (const { line, number } of linesOf(path, after)) {
        yield { ...rowOf(line, number, names), cursor: number };
      }
    },
  };
}

/** Splits at line feeds only: since Node 22, `readline` also splits at U+2028, which JSON texts may contain. */
async function* linesOf(path: string, after: number) {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  let number = 0;
  let held = "";
  const decode = (chunk?: Uint8Array) => {
    try {
      return utf8.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw invalid(`line ${number + 1}: expected UTF-8, got other bytes there or soon after`);
    }
  };
  for await (const chunk of createReadStream(path)) {
    const lines = decode(chunk as Uint8Array).split("\n");
    lines[0] = held + lines[0];
    held = lines.pop() ?? "";
    for (const line of lines) {
      number++;
      if (number > after && line.trim() !== "") yield { line, number };
    }
    if (held.length > lineMax)
      throw invalid(`line ${number + 1}: expected at most ${lineMax} characters, got more`);
  }
  held += decode();
  if (number >= after && held.trim() !== "") yield { line: held, number: number + 1 };
}

function rowOf(line: string, number: number, names: FieldNames): Row {
  try {
    return splitFields(recordOf(line), names);
  } catch (error) {
    throw invalid(`line ${number}: ${(error as Error).message}`);
  }
}

function recordOf(line: string): Readonly<Record<string, unknown>> {
  let record: unknown;
  try {
    record = parseJson(line);
  } catch {
    // Without the cause, whose message quotes the line.
    throw invalid("expected a JSON object, got invalid JSON");
  }
  if (typeof record === "object" && record !== null && !Array.isArray(record))
    return record as Record<string, unknown>;
  throw invalid("expected a JSON object");
}
