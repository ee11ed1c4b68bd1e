/** Texts that the command prints. They name values of the source, whose control characters a terminal must not see. */

import type { IndexDescription } from "sealdex/core";
import type { CheckResult } from "./check.js";
import type { Row, SourceDescription } from "./source.js";
import { toItem } from "./to-item.js";

const sampleMax = 3;
const cutAt = 160;

export interface Plan {
  readonly source: string;
  readonly description: SourceDescription;
  /** The first rows. */
  readonly rows: readonly Row[];
  readonly target: string;
  /** Undefined if there is no such index yet. */
  readonly existing: (IndexDescription & { readonly items: number }) | undefined;
}

export function planText({ source, description, rows, target, existing }: Plan): string {
  const converted = new Map<string, number>();
  const items = rows.map((row) =>
    toItem(row, (path, kind) => {
      const name = `${path}: ${kind}`;
      converted.set(name, (converted.get(name) ?? 0) + 1);
    }),
  );
  const dimensions = [...new Set(items.map((item) => item?.vector.length ?? 0))];
  const lines = [
    `From ${visible(source)}: ${description.rows === undefined ? "rows not counted" : count(description.rows, "row")}, ` +
      `metric ${description.metric ?? "not known (give --metric)"}.`,
    existing
      ? `To the existing index ${target}: ${count(existing.items, "item")}, metric ${existing.metric}.`
      : `To a new index ${target}.`,
    `The first ${count(rows.length, "row")}: dimension ${dimensions.join(", ") || "none"}; ` +
      `${rows.filter(({ id }) => id === undefined).length} without an id (made from the content), ` +
      `${rows.filter(({ contents }) => contents === undefined).length} without a text, ` +
      `${items.filter((item) => item === undefined).length} without a vector (not moved).`,
    ...convertedLines(converted),
    ...items
      .slice(0, sampleMax)
      .flatMap((item) =>
        item === undefined
          ? []
          : [
              `  ${visible(item.id)}`,
              `    text      ${item.contents === undefined ? "none" : visible(JSON.stringify(item.contents))}`,
              `    metadata  ${visible(JSON.stringify(item.metadata))}`,
            ],
      ),
    "Nothing was written.",
  ];
  return `${lines.join("\n")}\n`;
}

export function resultText(source: string, target: string, result: CheckResult): string {
  const { rows, ids, items, withoutVector, missing, compared, different, recall, converted } = result;
  const lines = [
    `Moved ${count(rows - withoutVector, "row")} from ${visible(source)} to ${target}.`,
    ...(withoutVector > 0
      ? [`Not moved, without a vector: ${count(withoutVector, "row")} (${names(result.withoutVectorIds)}).`]
      : []),
    ...(hasMovedNone(result) ? ["CHECK FAILED: no row has a vector; name its field by --vector-field."] : []),
    ...(ids < rows - withoutVector
      ? [`${count(rows - withoutVector - ids, "row")} had the id of another row; the last of each id counts.`]
      : []),
    missing === 0
      ? `Check: all ${count(ids, "id")} are in the index.`
      : `CHECK FAILED: ${count(missing, "id")} missing in the index (${names(result.missingIds)}).`,
    ...(items > ids ? [`The index holds ${count(items - ids, "item")} besides.`] : []),
    different.length === 0
      ? `Check: ${count(compared, "sampled item")} equal in vector, text and metadata.`
      : `CHECK FAILED: ${different.length} of ${count(compared, "sampled item")} differ (${names(different)}).`,
    recall === undefined
      ? "Recall was not measured: the index holds other items too, or no exact vectors, or ids were repeated."
      : `Check: recall@10 ${recall.toFixed(3)} against an exact scan.`,
    ...convertedLines(converted),
    ...(hasPassed(result)
      ? [
          "The old store still holds this data as plaintext, and so do its backups, exports and disks.",
          "Delete them when the new index answers as it should. Make a copy of the key file first.",
        ]
      : []),
  ];
  return `${lines.join("\n")}\n`;
}

export function hasPassed(result: CheckResult): boolean {
  return result.missing === 0 && result.different.length === 0 && !hasMovedNone(result);
}

function hasMovedNone({ rows, withoutVector }: CheckResult): boolean {
  return withoutVector > 0 && withoutVector === rows;
}

function convertedLines(converted: ReadonlyMap<string, number>): string[] {
  if (converted.size === 0) return [];
  return [
    "JSON cannot hold these values. They are stored as the nearest text, number or list:",
    ...Array.from(converted, ([name, number]) => `  ${visible(name)} (${number})`),
  ];
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}

function names(ids: readonly string[]): string {
  return ids.map(visible).join(", ");
}

/** Without control characters, and cut. */
function visible(text: string): string {
  const plain = text.replace(/\p{C}/gu, (c) => `\\u{${c.codePointAt(0)?.toString(16) ?? ""}}`);
  return plain.length > cutAt ? `${plain.slice(0, cutAt)}…` : plain;
}
