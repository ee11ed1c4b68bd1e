/** The names of the files of an audit log: one per process that has written to it. */

export function fileName(logId: string): string {
  return `audit-${logId}.jsonl`;
}

/** Undefined for a file that is not part of an audit log. */
export function logIdOf(name: string): string | undefined {
  return /^audit-([0-9a-f]{28})\.jsonl$/.exec(name)?.[1];
}
