/**
 * Rows of a LangGraph item: one per embedded text, at least one. All rows contain the item, so that any of them answers a filter;
 * the first, whose id is the item's, is authoritative. A value that is large or has bytes is in chunks of its own.
 */

import { createHash } from "node:crypto";
import type { Item as StoreItem } from "@langchain/langgraph-checkpoint";
import type { Filter } from "../../api/filter/compile.js";
import type { Item, Metadata } from "../../api/vector-index.js";
import { SealdexError } from "../../errors.js";
import type { StoredBytes } from "../stored-bytes.js";
import type { Value } from "./value-with-bytes.js";

/** The metadata of a row. */
export interface ItemRow {
  readonly namespace: string[];
  readonly key: string;
  /** Without the value, which is too large for metadata. */
  readonly large?: true;
  /** Null where it has bytes. */
  readonly value?: Value;
  /** The chunks of the whole value, unless `value` is all of it. */
  readonly stored?: StoredBytes;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Orders updates of the same millisecond. */
  readonly turn: number;
  /** Whether the row's vector belongs to a text. */
  readonly indexed: boolean;
  /** Position among the item's rows, and their number. */
  readonly row: number;
  readonly rows: number;
  /** The id of the first row, in the others. */
  readonly of?: string;
}

/** The id of the first row of the item with this namespace and key. */
export function itemId(namespace: readonly string[], key: string): string {
  return createHash("sha256")
    .update(JSON.stringify([namespace, key]))
    .digest("hex");
}

export function rowId(id: string, row: number): string {
  return row === 0 ? id : `${id}.${row}`;
}

export interface EmbeddedText {
  readonly vector: readonly number[];
  /** The text for keyword search. */
  readonly text?: string;
}

/**
 * The vector of rows without an embedded text, in an index of this dimension. Throws `dimension_mismatch` if embedded texts have
 * vectors of other `dims`.
 */
export function blankOf(dimension = 1, dims = dimension): number[] {
  if (dims !== dimension) {
    throw new SealdexError(
      "dimension_mismatch",
      `index.dims: expected ${dimension}, as the index was created with, got ${dims}; a store that was created without \`index\` has 1`,
    );
  }
  return Array.from({ length: dimension }, () => 0);
}

/**
 * The rows of an item: one per text, or one with the vector `blank` if there are none. Throws `dimension_mismatch` if the vectors
 * of texts have another dimension than `blank`.
 */
export function toRows(
  item: Omit<ItemRow, "indexed" | "row" | "rows" | "of">,
  texts: readonly EmbeddedText[],
  blank: readonly number[],
): Item[] {
  const other = texts.find(({ vector }) => vector.length !== blank.length);
  if (other !== undefined) {
    throw new SealdexError(
      "dimension_mismatch",
      `index.dims: expected ${other.vector.length}, the dimension of the model's vectors, got ${blank.length}`,
    );
  }
  const id = itemId(item.namespace, item.key);
  const indexed = texts.length > 0;
  const all: readonly EmbeddedText[] = indexed ? texts : [{ vector: blank }];
  return all.map(({ vector, text }, row) => {
    const metadata: ItemRow = { ...item, indexed, row, rows: all.length, ...(row > 0 && { of: id }) };
    return { id: rowId(id, row), vector, contents: text, metadata: metadata as unknown as Metadata };
  });
}

export function rowOf(metadata: Metadata | undefined): ItemRow {
  return metadata as unknown as ItemRow;
}

export function toStoreItem({ namespace, key, createdAt, updatedAt }: ItemRow, value: Value): StoreItem {
  return { namespace, key, value, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
}

/** Whether two rows belong to the same state of an item. */
export function isSameState(a: ItemRow, b: ItemRow): boolean {
  return a.updatedAt === b.updatedAt && a.turn === b.turn;
}

/** A filter for rows under a namespace whose values match, or are too large for metadata. */
export function rowFilter(prefix: readonly string[], filter: Value | undefined, more: Filter): Filter {
  const conditions: Filter[] = [more];
  prefix.forEach((label, i) => conditions.push({ [`namespace.${i}`]: label }));
  if (filter !== undefined) conditions.push({ $or: [onValue(filter), { large: true }] });
  return { $and: conditions };
}

/** Moves a filter to the value within a row's metadata. The index refuses invalid filters. */
function onValue(filter: unknown): Filter {
  if (typeof filter !== "object" || filter === null || Array.isArray(filter)) return filter as Filter;
  const conditions = Object.entries(filter).map(([key, condition]: [string, unknown]) => {
    if (key === "$not") return [key, onValue(condition)] as const;
    // The index refuses unknown operators.
    if (key.startsWith("$"))
      return [key, Array.isArray(condition) ? condition.map(onValue) : condition] as const;
    return [`value.${key}`, condition] as const;
  });
  return Object.fromEntries(conditions) as Filter;
}

/**
 * The texts at a path of a value: `$` (the whole value as JSON), `title`, `metadata.title`,
 * `chapters[*].content`, `authors[0].name`, `tags[-1]`, `metadata.*`, `{title,metadata.author}`. Numbers and booleans count as
 * texts, objects and arrays as their JSON.
 */
export function textsAt(value: unknown, path: string): string[] {
  if (path === "$") return [JSON.stringify(value)];
  return valuesAt(value, path).map((part) =>
    typeof part === "object" ? JSON.stringify(part) : String(part),
  );
}

function valuesAt(value: unknown, path: string): unknown[] {
  let reached: unknown[] = [value];
  for (const step of path.match(/\{[^}]*\}|\[[^\]]*\]|[^.[{]+/g) ?? []) {
    reached = reached
      .flatMap((part) => take(part, step))
      .filter((part) => part !== undefined && part !== null);
  }
  return reached;
}

function take(value: unknown, step: string): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if (step === "*") return Object.values(value);
  if (step.startsWith("{")) {
    return (step.match(/[^\s,{}][^,{}]*/g) ?? []).flatMap((path) => valuesAt(value, path.trim()));
  }
  const [, position] = /^\[(\*|-?\d+)\]$/.exec(step) ?? [];
  if (position !== undefined) {
    if (!Array.isArray(value)) return [];
    return position === "*" ? (value as unknown[]) : [value.at(Number(position))];
  }
  return Object.hasOwn(value, step) ? [(value as Value)[step]] : [];
}
