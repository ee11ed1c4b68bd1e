/** Writes the log to standard output: lines of JSON, a few at a time, or of text for people on a terminal. */

import { destination } from "pino";

/** Lines are collected up to this size or time, so that not each costs a system call. */
const bytesMin = 4096;
const waitMsMax = 100;
/** Beyond this amount of unread output, lines are dropped. */
const unreadBytesMax = 8 * 1024 * 1024;

/** Pending lines are written when the process exits. */
export function openLog(): { write(line: string): void } {
  if (process.stdout.isTTY) return { write: (line) => void process.stdout.write(textOf(line)) };
  const output = destination({
    dest: process.stdout.fd,
    sync: false,
    minLength: bytesMin,
    maxLength: unreadBytesMax,
    periodicFlush: waitMsMax,
  });
  return { write: (line) => void output.write(asciiJson(line)) };
}

interface Entry {
  readonly level: number;
  readonly time: number;
  readonly msg: string;
}

/** A line of the log for people. */
export function textOf(line: string): string {
  const { level, time, msg, ...others } = JSON.parse(line) as Entry;
  const clock = new Date(time).toTimeString().slice(0, 8);
  const { pid: _pid, hostname: _hostname, reqId: _reqId, ...fields } = others as Record<string, unknown>;
  if (fields.method !== undefined) {
    const { method, route = "no such endpoint", status = "left", ms, code = "" } = fields;
    return `${clock} ${method} ${route} ${status} ${code} (${ms} ms)\n`.replace("  ", " ");
  }
  if (level <= 30) return `${msg}\n`;
  const details = Object.keys(fields).length > 0 ? ` ${asciiJson(JSON.stringify(fields))}` : "";
  return `${clock} ${level === 40 ? "warning" : "error"}: ${msg}${details}\n`;
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
