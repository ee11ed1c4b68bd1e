/** A table whose rows can be sorted and searched. On a phone each row is a card. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";

interface Row {
  readonly key: string;
  readonly cells: readonly ComponentChildren[];
  /** Of the first columns: what they are sorted by. Texts among them are searched. */
  readonly values?: readonly (string | number)[];
}

interface TableProps {
  readonly label: string;
  readonly columns: readonly string[];
  /** Columns of numbers, which are aligned at their end. */
  readonly numeric?: readonly string[];
  /** Undefined until they are known. */
  readonly rows: readonly Row[] | undefined;
  /** Shown if there are no rows. */
  readonly empty?: ComponentChildren;
}

/** Shorter tables are read at a glance. */
const searchedFrom = 8;

export function Table({ label, columns, numeric = [], rows, empty = "None." }: TableProps) {
  const words = useSignal("");
  const order = useSignal<Order | undefined>(undefined);
  const classOf = (column: string) => (numeric.includes(column) ? "number" : undefined);
  const sortable = rows?.[0]?.values?.length ?? 0;
  const found = rows?.filter((row) => matches(row, words.value));
  if (order.value !== undefined) found?.sort(comparing(order.value));

  function sortBy(column: number): void {
    const isDescending = order.value?.column === column && !order.value.isDescending;
    order.value = { column, isDescending };
  }

  function sortOf(column: number): "ascending" | "descending" | undefined {
    if (order.value?.column !== column) return undefined;
    return order.value.isDescending ? "descending" : "ascending";
  }

  return (
    <>
      {(words.value !== "" || (sortable > 0 && rows !== undefined && rows.length >= searchedFrom)) && (
        <input
          type="search"
          aria-label={`Search ${label} on this page`}
          placeholder="Search this page"
          value={words.value}
          onInput={({ currentTarget }) => {
            words.value = currentTarget.value;
          }}
        />
      )}
      <div class="table" role="region" aria-label={label} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map((column, i) => (
                <th key={column} scope="col" class={classOf(column)} aria-sort={sortOf(i)}>
                  {i < sortable ? (
                    <button type="button" class="sort" onClick={() => sortBy(i)}>
                      {column}
                    </button>
                  ) : (
                    column
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found?.map(({ key, cells }) => (
              <tr key={key}>
                {cells.map((cell, i) => (
                  <td key={columns[i]} class={classOf(columns[i])} data-label={columns[i]}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
            {(found === undefined || found.length === 0) && (
              <tr>
                <td colSpan={columns.length} class="wraps">
                  {rows === undefined ? "Loading…" : rows.length > 0 ? "No row matches." : empty}
                </td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface Order {
  readonly column: number;
  readonly isDescending: boolean;
}

/** Whether some text of the row contains the words, in any case. */
function matches({ values = [] }: Row, words: string): boolean {
  const sought = words.trim().toLowerCase();
  if (sought === "") return true;
  return values.some((value) => typeof value === "string" && value.toLowerCase().includes(sought));
}

/** Rows without a value, or with an empty text, are the last in both directions. */
function comparing({ column, isDescending }: Order): (a: Row, b: Row) => number {
  return (one, other) => {
    const [a, b] = [one, other].map(({ values }) => values?.[column] ?? "");
    if (a === "" || b === "") return Number(a === "") - Number(b === "");
    const difference =
      typeof a === "number" && typeof b === "number"
        ? a - b
        : String(a).localeCompare(String(b), "en", { numeric: true });
    return isDescending ? -difference : difference;
  };
}
