/** Splits a stream of text or UTF-8 bytes into lines. */

import { invalid } from "../check-input.js";

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
 * one. Throws `invalid_request` with the line's number if a line is too long or not UTF-8.
 */
export async function* linesOf(source: TextSource): AsyncGenerator<Line> {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  let number = 1;
  let held = "";
  const decode = (chunk?: string | Uint8Array) => {
    if (typeof chunk === "string") return chunk;
    try {
      return utf8.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw invalid(`line ${number}: expected UTF-8, got other bytes there or soon after`);
    }
  };
  for await (const chunk of source) {
    const pieces = decode(chunk).split("\n");
    pieces[0] = held + pieces[0];
    held = pieces.pop() ?? "";
    for (const text of pieces) yield { text, number: number++ };
    if (held.length > lineMax)
      throw invalid(`line ${number}: expected at most ${lineMax} characters, got more`);
  }
  held += decode();
  if (held !== "") yield { text: held, number };
}
