/** Writes the log to standard output, a few lines at a time. */

import { destination } from "pino";
import { asciiJson } from "../audit/ascii-json.js";

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
