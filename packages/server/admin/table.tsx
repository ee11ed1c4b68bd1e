/** A table that scrolls sideways where the page is narrow, also by the keyboard. */

import type { ComponentChildren } from "preact";

interface TableProps {
  readonly label: string;
  readonly columns: readonly string[];
  /** Columns of numbers, which are aligned at their end. */
  readonly numeric?: readonly string[];
  /** Undefined until they are known. */
  readonly rows:
    | readonly { readonly key: string; readonly cells: readonly ComponentChildren[] }[]
    | undefined;
  /** Shown if there are no rows. */
  readonly empty?: ComponentChildren;
}

export function Table({ label, columns, numeric = [], rows, empty = "None." }: TableProps) {
  const classOf = (column: string) => (numeric.includes(column) ? "number" : undefined);
  return (
    <div class="table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col" class={classOf(column)}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows?.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, i) => (
                <td key={columns[i]} class={classOf(columns[i])}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
          {(rows === undefined || rows.length === 0) && (
            <tr>
              <td colSpan={columns.length} class="wraps">
                {rows === undefined ? "Loading…" : empty}
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
