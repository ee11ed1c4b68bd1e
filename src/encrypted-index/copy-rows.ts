/** Copies rows out of what they were read in, whose memory can then be used again. */

import { encodePage, Page } from "../segment/page.js";
import type { Row } from "../segment/row.js";
import type { RowsOfBlock } from "./live-rows.js";

/** As if they were the rows of a block, all of them live. */
export interface CopiedRows extends RowsOfBlock {
  /** Of records and contents. */
  readonly bytes: number;
}

export function copyRows(rows: readonly Row[]): CopiedRows {
  const fingerprints = new Uint8Array(16 * rows.length);
  rows.forEach(({ fingerprint }, i) => fingerprints.set(fingerprint, 16 * i));
  const records = pageOf(rows.map(({ record }) => record));
  const contents = pageOf(rows.map((row) => row.contents));
  return {
    firstRow: 0,
    kept: Array.from(rows.keys()),
    fingerprints: new Uint32Array(fingerprints.buffer),
    records,
    contents,
    bytes: records.plaintext.length + contents.plaintext.length,
  };
}

/** Rows were checked when the segment that they come from was opened. */
function pageOf(parts: readonly (Uint8Array | null)[]): Page {
  return new Page(encodePage(parts), parts.length, { name: "copied rows", mayBeAbsent: true, bytesMin: 0 });
}
