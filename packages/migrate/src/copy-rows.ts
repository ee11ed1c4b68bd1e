/** Copies the rows of a source, and keeps the place to resume from. */

import { ingest, SealdexError, type VectorIndex } from "sealdex/core";
import type { Cursor, Source } from "./source.js";
import type { Progress, StateFile } from "./state-file.js";
import { type MovedItem, toItem } from "./to-item.js";

export interface CopyOptions {
  readonly source: Source;
  readonly index: VectorIndex;
  readonly namespace: string | undefined;
  /** Names this migration in the state file. */
  readonly migration: string;
  readonly state: StateFile;
  readonly resumed: Progress | undefined;
  readonly onProgress: (rows: number) => void;
}

interface Read {
  readonly id: string;
  /** Rows read so far. */
  readonly rows: number;
  readonly cursor: Cursor | undefined;
}

/** Rows are replaced by their ids, so rows that a kill left unrecorded are written again. */
export async function copyRows(options: CopyOptions): Promise<void> {
  const { source, index, namespace, migration, state, resumed, onProgress } = options;
  /** Rows that are read and not yet known to be stored. */
  const reads: Read[] = [];
  let written: Promise<void> = Promise.resolve();
  async function* items(): AsyncGenerator<MovedItem & { readonly namespace?: string }> {
    let rows = resumed?.rows ?? 0;
    for await (const row of source.rows(resumed?.cursor)) {
      // A state file that cannot be written ends the copy at once.
      await written;
      rows++;
      // The check at the end names what was converted, and rows without a vector.
      const item = toItem(row, () => undefined);
      if (item === undefined) continue;
      reads.push({ id: item.id, rows, cursor: row.cursor });
      yield namespace === undefined ? item : { ...item, namespace };
    }
  }
  let stored = 0;
  const record = async (from: Read) => {
    const { cursor, rows } = from;
    if (cursor !== undefined) await state.write({ migration, cursor, rows, anchor: await index.anchor() });
  };
  try {
    await ingest({
      to: index,
      items: items(),
      onProgress: (progress) => {
        const done = reads.splice(0, progress.items - stored);
        stored = progress.items;
        onProgress(done[done.length - 1].rows);
        const last = done.findLast(({ cursor }) => cursor !== undefined);
        if (last === undefined) return;
        written = written.then(() => record(last));
        // Awaited at the end; until then, a rejection must not count as unhandled.
        written.catch(() => undefined);
      },
    });
  } catch (error) {
    throw withId(error, (position) => reads[position - stored]?.id);
  } finally {
    await written;
  }
}

/** The library names an item by its position among those of this run. */
function withId(error: unknown, idOf: (position: number) => string | undefined): unknown {
  if (!(error instanceof SealdexError)) return error;
  const message = error.message.replace(/items\[(\d+)\]/, (whole, position: string) => {
    const id = idOf(Number(position));
    return id === undefined ? whole : `row ${JSON.stringify(id.slice(0, 200))}`;
  });
  return new SealdexError(error.code, message, { cause: error });
}
