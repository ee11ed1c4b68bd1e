/** Jobs of a queue. They hold no keys, since a queue is not encrypted. */

import type { VectorIndex } from "sealdex/core";
import { invalid } from "sealdex/wire";
import { ingestPart } from "./ingest-part.js";
import { parseInput } from "./input-files.js";
import { parsePart } from "./split-input.js";

export const jobKinds = ["ingest", "train", "compact"] as const;

/** `index`: the name of an index or a collection. `from`, `part`: as in the command `ingest`. */
export type Job =
  | { readonly kind: "ingest"; readonly index: string; readonly from: string; readonly part: string }
  | { readonly kind: "train" | "compact"; readonly index: string };

/** Checks a job, which anyone who writes to the queue may have made. Throws `invalid_request`. */
export function takeJob(value: unknown): Job {
  const fields = new Map<string, unknown>(Object.entries(Object(value) as object));
  const [kind, index, from, part] = ["kind", "index", "from", "part"].map((name) => {
    const field = fields.get(name);
    fields.delete(name);
    return field === undefined || typeof field === "string" ? field : null;
  });
  const expected = () => invalid("job: expected the texts kind, index and, to ingest, from and part");
  if (typeof index !== "string" || fields.size > 0) throw expected();
  if (kind === "train" || kind === "compact") {
    if (from !== undefined || part !== undefined) throw expected();
    return { kind, index };
  }
  if (kind !== "ingest" || typeof from !== "string" || typeof part !== "string") throw expected();
  parsePart(part);
  if ("accessKey" in parseInput(from)) {
    throw invalid("job: expected from without an access key: workers take theirs from their environment");
  }
  return { kind, index, from, part };
}

/** Returns a line about the result. */
export async function runJob(job: Job, index: VectorIndex): Promise<string> {
  if (job.kind === "ingest") {
    const part = parsePart(job.part);
    return `${job.index}: ${await ingestPart({ to: index, from: job.from, part })}`;
  }
  await index[job.kind]();
  return `${job.index}: ${job.kind === "train" ? "trained" : "compacted"}.`;
}
