/** When rows of a segment expire, in the order of time: expired items are found without the records. docs/internals/format.md §4. */

import type { Work } from "../../engine/work.js";
import { expectStored, timeMax } from "../../checks/stored-json.js";
import type { CachedValue } from "../cache/cache-group.js";
import { recordExpiry, type Rows } from "./row.js";

/** f64 milliseconds since 1970, fingerprint. */
const entryBytes = 24;
const pageEntries = 2048;
const rowsTogether = 4096;

export interface EncodedExpiries {
  readonly plaintext: Uint8Array;
  readonly firstTime: number;
}

/** Pages of the rows that expire; none if no row does. */
export function* encodeExpiries(rows: Rows): Work<EncodedExpiries[]> {
  const byTime = new Map<number, Uint8Array[]>();
  let count = 0;
  for (let i = 0; i < rows.length; i++) {
    if (i % rowsTogether === rowsTogether - 1) yield;
    const row = rows.at(i);
    const time = recordExpiry(row.record);
    if (time === undefined) continue;
    const equal = byTime.get(time);
    if (equal === undefined) byTime.set(time, [row.fingerprint]);
    else equal.push(row.fingerprint);
    count++;
  }
  // Sorted as numbers: objects take the event loop for longer than a piece of work may.
  const times = Float64Array.from(byTime.keys()).sort();
  const pages: EncodedExpiries[] = [];
  let plaintext = Buffer.alloc(0);
  let at = 0;
  for (const [i, time] of times.entries()) {
    if (i % rowsTogether === rowsTogether - 1) yield;
    for (const fingerprint of byTime.get(time) ?? []) {
      if (at === plaintext.length) {
        plaintext = Buffer.alloc(entryBytes * Math.min(pageEntries, count));
        at = 0;
        pages.push({ plaintext, firstTime: time });
      }
      plaintext.writeDoubleLE(time, at);
      plaintext.set(fingerprint, at + 8);
      at += entryBytes;
      count--;
    }
  }
  return pages;
}

export class ExpiryPage implements CachedValue {
  readonly bytes: number;
  readonly plaintext: Buffer;

  /** Throws `corrupt` unless its times ascend from `firstTime` on. */
  constructor(plaintext: Uint8Array, firstTime: number) {
    const isWhole = plaintext.length > 0 && plaintext.length % entryBytes === 0;
    expectStored(isWhole, "page of expiries", `entries of ${entryBytes} bytes`);
    this.plaintext = Buffer.from(plaintext.buffer, plaintext.byteOffset, plaintext.length);
    this.bytes = plaintext.buffer.byteLength;
    for (let i = 0, before = firstTime; i < this.count; i++) {
      const time = this.time(i);
      const isNext = i === 0 ? time === firstTime : time >= before && time <= timeMax;
      expectStored(isNext, "page of expiries", "ascending times");
      before = time;
    }
  }

  get count(): number {
    return this.plaintext.length / entryBytes;
  }

  time(i: number): number {
    return this.plaintext.readDoubleLE(entryBytes * i);
  }

  /** A copy: 16 bytes with a buffer of their own. */
  fingerprint(i: number): Uint8Array {
    return Uint8Array.from(this.plaintext.subarray(entryBytes * i + 8, entryBytes * (i + 1)));
  }
}
