/** Checks an audit log: every file of a folder, and that none is missing or shorter than it was. */

import type { BlobStore } from "sealdex/core";
import { type AuditOptions, endsPrefix } from "./audit-log.js";
import { ChainKey } from "./chain.js";
import { fileName, logIds, readFile } from "./read-log.js";

export interface Finding {
  readonly file: string;
  /** How many lines are as they were written. */
  readonly lines: number;
  /** What is wrong, from the beginning of the file to its end. */
  readonly faults: readonly string[];
}

/** A number and a MAC are shorter. */
const wholeCount = { offset: 0, length: 1024 };

/** One finding per file, those that are missing included, oldest first. */
export async function verifyLogs({ folder, rootKey, store }: AuditOptions): Promise<Finding[]> {
  const key = new ChainKey(rootKey);
  const counts = await readCounts(store, key);
  const present = await logIds(folder);
  const findings: Finding[] = [];
  for (const id of [...new Set([...present, ...counts.keys()])].sort()) {
    const found = present.includes(id)
      ? await verifyFile(folder, id, key, counts.get(id))
      : { lines: 0, faults: ["the file is missing"] };
    findings.push({ file: fileName(id), ...found });
  }
  return findings;
}

async function verifyFile(folder: string, id: string, key: ChainKey, known: number | null | undefined) {
  const { entries, rest } = await readFile(folder, id, key);
  const faults: string[] = [];
  // They are newest first.
  for (const { number, line, isAuthentic } of entries.reverse()) {
    if (line === undefined) faults.push(`line ${number} was changed or added`);
    else if (!isAuthentic) faults.push(`line ${number} was written as line ${line.n}, after another line`);
  }
  if (rest > 0) faults.push(`after line ${entries.length} there are ${rest} bytes of no line`);
  const written = entries.flatMap(({ line }) => line?.n ?? []);
  if (known === undefined) faults.push("the configuration location does not know this file");
  else if (known === null) faults.push("the end that the configuration location has was modified");
  else if (known > (written.at(-1) ?? 0)) {
    faults.push(`lines were removed from the end: there were at least ${known}`);
  }
  return { lines: written.length, faults };
}

/** How many lines each log had at least, by its id; null: that was modified. */
async function readCounts(store: BlobStore, key: ChainKey): Promise<Map<string, number | null>> {
  const counts = new Map<string, number | null>();
  for (const name of await store.list(endsPrefix)) {
    const [, id] = /^([0-9a-f]{28})\/\d{16}$/.exec(name.slice(endsPrefix.length)) ?? [];
    if (id === undefined || counts.has(id)) continue;
    const bytes = await store.read(name, wholeCount);
    counts.set(id, (bytes && key.openCount(id, bytes)) ?? null);
  }
  return counts;
}
