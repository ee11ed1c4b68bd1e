/** The metadata columns of some rows, as a segment of just these has them. */

import { expect } from "vitest";
import { Column } from "../../src/state/segment/columns.js";
import { gatherColumns } from "../../src/state/segment/column-writer.js";
import { encodeRecord, type Rows, rowsOf } from "../../src/state/segment/row.js";

export function rowsOfRecords(records: readonly Uint8Array[]): Rows {
  return rowsOf(records.map((record) => ({ fingerprint: new Uint8Array(16), record, contents: null })));
}

/** Of at most one group of rows. */
export function columnsOf(metadatas: readonly unknown[]): Map<string | null, () => Column> {
  const records = metadatas.map((metadata) =>
    encodeRecord({ id: "id", metadataJson: JSON.stringify(metadata) }),
  );
  const columns = new Map<string | null, () => Column>();
  for (const column of gatherColumns(rowsOfRecords(records))) {
    if (column === undefined) continue;
    expect(column).toMatchObject({ firstRow: 0, rows: metadatas.length });
    const decoded = new Column(column.bytes, column.rows);
    columns.set(column.path, () => decoded);
  }
  return columns;
}
