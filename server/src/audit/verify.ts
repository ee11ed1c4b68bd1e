/** Checks audit logs: every file of a folder, and that none is missing or shorter than it was. */

import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { BlobStore } from "sealdex/core";
import { type AuditOptions, endsPrefix } from "./audit-log.js";
import { type ChainEnd, ChainKey } from "./chain.js";
import { fileName, logIdOf } from "./file-name.js";

export interface Finding {
  readonly file: string;
  /** Lines that are as they were written. */
  readonly lines: number;
  /** What is wrong; undefined if nothing is. */
  readonly fault?: string;
}

/** One finding per file, those that are missing included, oldest first. */
export async function verifyLogs({ folder, rootKey, store }: AuditOptions): Promise<Finding[]> {
  const key = new ChainKey(rootKey);
  const ends = await readEnds(store, key);
  const present = (await readdir(folder)).flatMap((name) => logIdOf(name) ?? []);
  const ids = [...new Set([...present, ...ends.keys()])].sort();
  const findings: Finding[] = [];
  for (const id of ids) {
    const file = fileName(id);
    if (!present.includes(id)) findings.push({ file, lines: 0, fault: "the file is missing" });
    else findings.push({ file, ...(await verifyFile(join(folder, file), key, id, ends.get(id))) });
  }
  return findings;
}

async function verifyFile(
  path: string,
  key: ChainKey,
  id: string,
  known: ChainEnd | null | undefined,
): Promise<Omit<Finding, "file">> {
  let end = key.begin(id);
  let isKnownEndSeen = known?.count === 0;
  const lines = createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Infinity });
  for await (const line of lines) {
    const next = key.accept(end, line);
    if (next === undefined) {
      return { lines: end.count, fault: `after line ${end.count}: a line was removed, changed or added` };
    }
    end = next;
    if (end.count === known?.count && end.mac === known.mac) isKnownEndSeen = true;
  }
  if (known === undefined)
    return { lines: end.count, fault: "the configuration location does not know this file" };
  if (known === null)
    return { lines: end.count, fault: "the end that the configuration location has was modified" };
  if (isKnownEndSeen) return { lines: end.count };
  return { lines: end.count, fault: `lines were removed from the end: there were at least ${known.count}` };
}

/** The newest end of each log, by its id; null for one that was modified. */
async function readEnds(store: BlobStore, key: ChainKey): Promise<Map<string, ChainEnd | null>> {
  const ends = new Map<string, ChainEnd | null>();
  for (const name of await store.list(endsPrefix)) {
    const [, id] = /^audit\/([0-9a-f]{28})\/\d{16}$/.exec(name) ?? [];
    if (id === undefined || ends.has(id)) continue;
    const bytes = await store.read(name);
    ends.set(id, (bytes && key.openEnd(id, Buffer.from(bytes).toString("latin1"))) ?? null);
  }
  return ends;
}
