/**
 * Writes an audit log: one file per process, and a new one when it is full. The configuration
 * location gets the number of lines of each file, which reveals removed and shortened files.
 */

import { randomBytes } from "node:crypto";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { SealdexError } from "sealdex/core";
import { type AuditEvent, ChainKey, digestOf } from "./chain.js";
import { type AuditOptions, countName, fileBytesMax, fileName } from "./read-log.js";

const endMs = 60_000;
const lineBytesMax = 3072;
/** Lines per write, of up to 3 KB each: no file grows beyond the 8 MiB that are read of one. */
const linesTogether = 1000;

export class AuditLog {
  readonly options: AuditOptions;
  readonly #key: ChainKey;
  readonly #timer = setInterval(() => void this.writeEnd().catch(() => undefined), endMs).unref();
  #file: LogFile;
  #events: AuditEvent[] = [];
  #writing: Promise<void> | undefined;
  #failure: unknown;

  private constructor(options: AuditOptions, file: LogFile) {
    this.options = options;
    this.#key = new ChainKey(options.rootKey);
    this.#file = file;
  }

  static async open(options: AuditOptions): Promise<AuditLog> {
    const log = new AuditLog(options, await firstFile(options.folder));
    await log.#storeCount(log.#file);
    return log;
  }

  /** Throws `storage_unavailable` if the log cannot be written: no request goes unrecorded. */
  async check(): Promise<void> {
    if (this.#failure !== undefined) await this.#flush();
    if (this.#failure === undefined) return;
    const options = { cause: this.#failure };
    throw new SealdexError("storage_unavailable", "the audit log cannot be written", options);
  }

  /** Adds a line, to be written soon. */
  add(event: AuditEvent): void {
    this.#events.push(event);
    void this.#flush();
  }

  /** Stores the number of lines in the configuration location. */
  async writeEnd(): Promise<void> {
    await this.#flush();
    await this.#storeCount(this.#file);
  }

  /** Throws `storage_unavailable` if lines are lost, and the errors of the configuration location. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    try {
      await this.writeEnd();
      await this.check();
    } finally {
      await this.#file.handle.close();
    }
  }

  /** Resolves once every line is written or has failed; never rejects. */
  #flush(): Promise<void> {
    this.#writing ??= this.#write()
      .then(() => (this.#failure = undefined))
      .catch((error: unknown) => (this.#failure = error))
      .then(() => (this.#writing = undefined));
    return this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#events.length > 0) {
      const file = this.#file;
      if (file.bytes < fileBytesMax) await this.#append(file, this.#events.slice(0, linesTogether));
      else {
        await this.#storeCount(file);
        this.#file = await newFile(this.options.folder);
        await file.handle.close();
      }
    }
  }

  async #append(file: LogFile, events: readonly AuditEvent[]): Promise<void> {
    // Stored before the first line, so that a removed file is missed.
    if (file.stored < 0) await this.#storeCount(file);
    let { count, lastLine } = file;
    let text = "";
    for (const event of events) {
      lastLine = this.#key.seal(file.id, { n: ++count, previous: digestOf(lastLine), ...event });
      text += `${lastLine}\n`;
    }
    // Without the beginning of these lines that a failed attempt has left.
    await file.handle.truncate(file.bytes);
    await file.handle.appendFile(text);
    this.#events.splice(0, events.length);
    Object.assign(file, { bytes: file.bytes + text.length, count, lastLine });
  }

  async #storeCount(file: LogFile): Promise<void> {
    const { id, count, stored } = file;
    if (count === stored) return;
    await this.options.store.create(countName(id, count), Buffer.from(this.#key.sealCount(id, count)));
    if (stored >= 0) await this.options.store.delete([countName(id, stored)]);
    file.stored = count;
  }
}

type LogFile = Awaited<ReturnType<typeof newFile>>;

/** Throws `storage_unavailable`, with the name of the setting. */
async function firstFile(folder: string): Promise<LogFile> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const file = await newFile(folder);
    // A full disk has room for an empty file, but for no line.
    await file.handle.appendFile(Buffer.alloc(lineBytesMax));
    await file.handle.truncate(0);
    return file;
  } catch (cause) {
    const message = `SEALDEX_AUDIT_FOLDER: expected a folder for the audit log: ${(cause as Error).message}`;
    throw new SealdexError("storage_unavailable", message, { cause });
  }
}

/** `bytes`: of complete lines. `stored`: number of lines in the configuration location, or -1. */
async function newFile(folder: string) {
  const id = Date.now().toString(16).padStart(12, "0") + randomBytes(8).toString("hex");
  const handle = await open(join(folder, fileName(id)), "ax", 0o600);
  return { id, handle, bytes: 0, count: 0, lastLine: "", stored: -1 };
}
