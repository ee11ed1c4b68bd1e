/** A file with one JSON object per line. */

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { type FieldNames, splitFields } from "../fields.js";
import { parseJson } from "../json-values.js";
import { invalid, type Source } from "../source.js";
import { versionOf } from "./file-reader.js";

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
        yield { ...splitFields(recordOf(line, number), names), cursor: number };
      }
    },
  };
}

async function* linesOf(path: string, after: number) {
  const input = createReadStream(path);
  let number = 0;
  try {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      number++;
      if (number > after && line.trim() !== "") yield { line, number };
    }
  } finally {
    input.destroy();
  }
}

function recordOf(line: string, number: number): Readonly<Record<string, unknown>> {
  let record: unknown;
  try {
    record = parseJson(line);
  } catch {
    // Without the cause, whose message quotes the line.
    throw invalid(`line ${number}: expected a JSON object, got invalid JSON`);
  }
  if (typeof record === "object" && record !== null && !Array.isArray(record))
    return record as Record<string, unknown>;
  throw invalid(`line ${number}: expected a JSON object`);
}
