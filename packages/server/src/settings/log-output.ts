/** Where the log goes: standard output, a few lines at a time. */

import { destination } from "pino";
import { asciiJson } from "../audit/ascii-json.js";

/** Lines wait for others, so that not each costs a system call: for so many bytes, and for so long. */
const bytesMin = 4096;
const waitMsMax = 100;
/** What nobody reads: beyond it, lines are left out. */
const unreadBytesMax = 8 * 1024 * 1024;

/** What is left to write is written when the process exits. */
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
