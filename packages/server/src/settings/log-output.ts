/** Writes the log to standard output, a few lines at a time. */

import { destination } from "pino";

/** Lines are collected up to this size or time, so that not each costs a system call. */
const bytesMin = 4096;
const waitMsMax = 100;
/** Beyond this amount of unread output, lines are dropped. */
const unreadBytesMax = 8 * 1024 * 1024;

/** Pending lines are written when the process exits. */
export function openLog(): { write(line: string): void } {
  const output = destination({
    dest: process.stdout.fd,
    sync: false,
    minLength: bytesMin,
    maxLength: unreadBytesMax,
    periodicFlush: waitMsMax,
  });
  return { write: (line) => void output.write(asciiJson(line)) };
}

/**
 * Escapes JSON to printable ASCII, for records of one line: some programs also break lines at
 * U+0085, U+2028 and U+2029, and terminals interpret other characters that JSON may contain.
 */
export function asciiJson(json: string): string {
  return json.replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
