/**
 * Documents as items of an index. A document is one or more passages, whose ids come from its place and their position. The
 * first has the record of the whole: a document is stored in one commit, so a record is never without its passages.
 */

import { createHash } from "node:crypto";
import type { Item } from "sealdex/core";
import { splitIntoPassages } from "./passages.js";

/** The source of remembered notes; folders have others. */
export const memory = "memory";

/** The state of a file that was stored. */
export interface FileRecord {
  readonly digest: string;
  readonly size: number;
  readonly mtimeMs: number;
}

export interface Document {
  readonly source: string;
  readonly path: string;
  readonly text: string;
  readonly record: FileRecord;
}

export interface PassageMetadata {
  /** The digest of source and path. */
  readonly doc: string;
  readonly source: string;
  readonly path: string;
  readonly part: number;
  readonly under: string;
  /** Only in the first passage, like all of the record. */
  readonly parts?: number;
  readonly digest?: string;
  readonly size?: number;
  readonly mtimeMs?: number;
}

export function digestOf(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

export function docOf(source: string, path: string): string {
  return digestOf(`${source}\0${path}`).slice(0, 32);
}

/** In the order of parts, as texts too. */
export function passageId(doc: string, part: number): string {
  return `${doc}#${String(part).padStart(5, "0")}`;
}

/** A document without words is found by its name. */
export function itemsOf({ source, path, text, record }: Document): Item[] {
  const doc = docOf(source, path);
  const found = splitIntoPassages(text);
  const passages = found.length > 0 ? found : [{ under: "", text: path }];
  return passages.map(({ under, text: passage }, part) => {
    const metadata: PassageMetadata = {
      doc,
      source,
      path,
      part,
      under,
      ...(part === 0 && { parts: passages.length, ...record }),
    };
    return { id: passageId(doc, part), contents: under ? `${under}\n\n${passage}` : passage, metadata };
  });
}

/** The text of a passage, without the headings that were added for the search. */
export function textOf(contents: string, { under }: PassageMetadata): string {
  return under === "" ? contents : contents.slice(under.length + 2);
}
