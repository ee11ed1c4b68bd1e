/** A table that scrolls sideways where the page is narrow, also by the keyboard. */

import type { ComponentChildren } from "preact";

interface TableProps {
  readonly label: string;
  readonly columns: readonly string[];
  /** Undefined until they are known. */
  readonly rows:
    | readonly { readonly key: string; readonly cells: readonly ComponentChildren[] }[]
    | undefined;
}

export function Table({ label, columns, rows }: TableProps) {
  return (
    <div class="table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows?.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, i) => (
                <td key={columns[i]}>{cell}</td>
              ))}
            </tr>
          ))}
          {(rows === undefined || rows.length === 0) && (
            <tr>
              <td colSpan={columns.length}>{rows === undefined ? "Loading…" : "None."}</td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
