/**
 * Which rows of a segment newer segments shadow, as a set: for sums over all live rows. A row that is shadowed once stays so in every
 * later snapshot that still has its segment, so each snapshot adds the rows that its new segments shadow.
 */

import { type CachedValue, namedKey } from "../../state/cache/cache-group.js";
import { entryWords, tombstone } from "../../state/segment/id-table.js";
import { addRow, allRows, countRows, noRows } from "../../state/segment/row-bits.js";
import { yieldIfDue, forEachYielding } from "../../async/event-loop.js";
import { pinIdTables } from "../snapshot/id-tables.js";
import type { OpenSegment, Snapshot } from "../snapshot/snapshot.js";

export interface HiddenRows extends CachedValue {
  readonly bits: Uint32Array;
  readonly count: number;
  /** Of the manifest that they were found for. */
  readonly version: number;
  /** Names of the segments that were looked at. */
  readonly newer: ReadonlySet<string>;
}

const hiddenKey = namedKey<HiddenRows>("hidden rows");
/** Each of few entries is looked up in the segment; otherwise each row is looked up among the entries. */
const fewShare = 1 / 16;
const soughtTogether = 1000;
/** Bytes of memory of a name. */
const nameBytes = 128;

export async function hiddenRows(snapshot: Snapshot, segment: OpenSegment): Promise<HiddenRows> {
  const { cache } = segment.reader;
  const { version } = snapshot.manifest;
  const known = cache.peek(hiddenKey);
  const base = known !== undefined && known.version <= version ? known : undefined;
  const newer = snapshot.newerThan(segment);
  const added = newer.filter(({ ref }) => base === undefined || !base.newer.has(ref.name));
  if (base !== undefined && added.length === 0) return base;
  const bits = await bitsWith(snapshot, segment, base?.bits, added);
  const hidden = {
    bits,
    count: countRows(bits, 0, segment.reader.footer.rows),
    version,
    newer: new Set(newer.map(({ ref }) => ref.name)),
    bytes: bits.byteLength + nameBytes * newer.length,
  };
  if (known === base) cache.put(hiddenKey, hidden);
  return hidden;
}

/** The rows that were known to be hidden, and those that `added` hide. */
async function bitsWith(
  snapshot: Snapshot,
  segment: OpenSegment,
  known: Uint32Array | undefined,
  added: readonly OpenSegment[],
): Promise<Uint32Array> {
  const { rows } = segment.reader.footer;
  const entries = added.reduce((sum, { ref }) => sum + ref.rows + ref.deleted, 0);
  if (entries > fewShare * rows) {
    const bits = allRows(rows);
    await snapshot.forEachEntry(
      segment,
      (row) => row !== tombstone,
      (entry) => {
        const row = entry[entryWords - 1];
        bits[row >>> 5] &= ~(1 << (row & 31));
      },
    );
    return bits;
  }
  const bits = known?.slice() ?? noRows(rows);
  const sought = await fingerprintsOf(added);
  for (let start = 0; start < sought.length; start += soughtTogether) {
    await yieldIfDue();
    for (const row of await segment.reader.find(sought.slice(start, start + soughtTogether))) {
      if (row !== -1 && row !== tombstone) addRow(bits, row);
    }
  }
  return bits;
}

/** Of all entries of these segments. */
async function fingerprintsOf(segments: readonly OpenSegment[]): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  const { tables, release } = await pinIdTables(segments.map(({ reader }) => reader));
  try {
    for (const table of tables) {
      const entries = table.view();
      await forEachYielding(table.count, (i) => {
        found.push(new Uint8Array(entries.slice(entryWords * i, entryWords * i + 4).buffer));
      });
    }
  } finally {
    release();
  }
  return found;
}
