/** Verifies the audit logs of a folder: every line, and that no file is missing or shortened. */

import type { BlobStore } from "sealdex/core";
import { type AuditOptions, endsPrefix } from "./audit-log.js";
import { ChainKey } from "./chain.js";
import { fileName, logIds, readFile } from "./read-log.js";

export interface Finding {
  readonly file: string;
  /** Number of authentic lines. */
  readonly lines: number;
  /** Faults in the order of the file. */
  readonly faults: readonly string[];
}

/** A sealed count is shorter. */
const wholeCount = { offset: 0, length: 1024 };

/** One finding per file, including missing ones, oldest first. */
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
  // Entries are newest first.
  for (const { number, line, isAuthentic } of entries.reverse()) {
    if (line === undefined) faults.push(`line ${number} was changed or added`);
    else if (!isAuthentic) faults.push(`line ${number} was written as line ${line.n}, after another line`);
  }
  if (rest > 0) faults.push(`after line ${entries.length} there are ${rest} bytes of an incomplete line`);
  const written = entries.flatMap(({ line }) => line?.n ?? []);
  if (known === undefined) faults.push("the configuration location does not know this file");
  else if (known === null) faults.push("the count in the configuration location was modified");
  else if (known > (written.at(-1) ?? 0)) {
    faults.push(`lines are missing at the end; expected at least ${known}`);
  }
  return { lines: written.length, faults };
}

/** Least number of lines of each log by its id; null if the count was modified. */
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
