/** Lines of a stream of text or of UTF-8 bytes. */

import { invalid } from "../check-input.js";

export interface Line {
  readonly text: string;
  /** From 1. */
  readonly number: number;
}

export type TextSource = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

/** The longest line, in characters: an item of 8,192 numbers, with contents and metadata all escaped, is shorter. */
const lineMax = 16 * 1024 * 1024;

/**
 * Cut at line feeds alone: JSON texts may hold other line separators. The last line needs no end. Throws `invalid_request`, naming
 * the line, for one that is too long or not UTF-8.
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
