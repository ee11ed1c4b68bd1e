/** Rows of a batch stay in the pages that they were read in. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { LiveRows } from "../../src/index/maintenance/live-rows.js";
import { BlockTable, rowWords } from "../../src/state/segment/block-table.js";
import type { PageBlock } from "../../src/state/segment/block.js";
import { encodePage, Page } from "../../src/state/segment/page.js";
import { contentEntries, rowsAt } from "../../src/state/segment/row.js";
import { RowPages } from "../../src/state/segment/row-pages.js";

type Entry = Uint8Array | null;

/** The entries in pages of these sizes, as a segment has them: `cuts` are used in turn. */
function pagesOf(entries: readonly Entry[], cuts: readonly number[]): RowPages {
  const sizes: number[] = [];
  for (let first = 0, i = 0; first < entries.length; first += sizes[i++]) {
    sizes.push(Math.min(cuts[i % cuts.length], entries.length - first));
  }
  let firstRow = 0;
  const words = sizes.flatMap((rows) => [1, (firstRow += rows) - rows, rows]);
  const layout = { count: rowWords, make: (block: object) => block as PageBlock };
  const blocks = new BlockTable<PageBlock>(Uint32Array.from(words), layout, 0, 0);
  return new RowPages(
    Array.from(blocks, (block) => {
      const own = entries.slice(block.firstRow, block.firstRow + block.rows);
      return { block, page: new Page(encodePage(own), block.rows, contentEntries) };
    }),
  );
}

function textOf(entry: Entry): string | null {
  return entry && Buffer.from(entry).toString("latin1");
}

const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 });
/** Blocks of rows, of each whether it is live. */
const segment = fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 9 }), { maxLength: 8 });

test("rows of any blocks have their own fingerprint, record and contents, in any order", () => {
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 3 }), sizes, sizes, (segments, recordCuts, contentsCuts) => {
      const rows = new LiveRows();
      const expected: [string, string, string | null][] = [];
      segments.forEach((blocks, s) => {
        const count = blocks.flat().length;
        const recordOf = (row: number) => `record ${s} ${row}`;
        const contentsOf = (row: number) =>
          row % 3 === 0 ? null : row % 3 === 1 ? "" : `contents ${s} ${row}`;
        const all = Array.from({ length: count }, (_, row) => row);
        const records = pagesOf(
          all.map((row) => Buffer.from(recordOf(row))),
          recordCuts,
        );
        const contents = pagesOf(
          all.map((row) => {
            const text = contentsOf(row);
            return text === null ? null : Buffer.from(text);
          }),
          contentsCuts,
        );
        let firstRow = 0;
        for (const live of blocks) {
          const fingerprints = new Uint32Array(4 * live.length);
          const bytes = Buffer.from(fingerprints.buffer);
          const fingerprintOf = (row: number) => `${s} ${row}`.padEnd(16);
          live.forEach((_, i) => bytes.write(fingerprintOf(firstRow + i), 16 * i, "latin1"));
          const kept = [...live.keys()].filter((i) => live[i]);
          rows.add({ firstRow, kept, fingerprints, records, contents });
          for (const i of kept) {
            const row = firstRow + i;
            expected.push([fingerprintOf(row), recordOf(row), contentsOf(row)]);
          }
          firstRow += live.length;
        }
      });
      const backwards = Uint32Array.from(expected.keys()).reverse();
      const found = rowsAt(rows, backwards);
      expect(rows.length).toBe(expected.length);
      expect(found.length).toBe(expected.length);
      expected.reverse().forEach((row, i) => {
        const { fingerprint, record, contents } = found.at(i);
        expect([textOf(fingerprint), textOf(record), textOf(contents)]).toEqual(row);
      });
    }),
  );
});
