/** Stores the rows of one part of an input. */

import { ingest, type IngestResult, type VectorIndex } from "sealdex/core";
import { type IngestItem, shiftPosition } from "sealdex/wire";
import { openInput } from "./input-files.js";
import { itemsIn } from "./read-items.js";
import { type Part, rangesOf } from "./split-input.js";

export interface IngestPartOptions {
  readonly to: VectorIndex;
  /** See `openInput`. */
  readonly from: string;
  readonly part: Part;
  readonly batchSize?: number | undefined;
  readonly onProgress?: (progress: IngestResult) => void;
}

/**
 * Rows that are stored unchanged are skipped, so a part may run any number of times, also at the same time.
 * Returns a line about it. Throws as `ingest`, with the file and the row.
 */
export async function ingestPart({
  to,
  from,
  part,
  batchSize = 1000,
  onProgress,
}: IngestPartOptions): Promise<string> {
  const input = await openInput(from);
  /** Where the rows are that are not stored yet. */
  const places: string[] = [];
  let reported = 0;
  async function* items(): AsyncGenerator<IngestItem> {
    for (const range of rangesOf(input.files, part)) {
      for await (const { item, where } of itemsIn(range)) {
        places.push(where);
        yield item;
      }
    }
  }
  const report = (progress: IngestResult) => {
    places.splice(0, progress.items - reported);
    reported = progress.items;
    onProgress?.(progress);
  };
  try {
    const request = { to, items: items(), batchSize, skipUnchanged: true, onProgress: report };
    const { items: rows, stored, unchanged } = await ingest(request);
    const bytes = input.files.reduce((sum, file) => sum + file.bytes, 0);
    return (
      `Part ${part.part}/${part.parts} of ${input.files.length} files (${bytes} bytes): ` +
      `${rows} rows read, ${stored} stored, ${unchanged} unchanged.`
    );
  } catch (error) {
    throw shiftPosition(error, (i) => places[i - reported]);
  } finally {
    input.close();
  }
}
