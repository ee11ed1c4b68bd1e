/**
 * Writes an audit log, one file per process, and a new one when it is full. The configuration
 * location gets the number of lines of each file, which reveals removed and shortened files.
 */

import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { type BlobStore, SealdexError } from "sealdex/core";
import { type AuditEvent, ChainKey, digestOf } from "./chain.js";
import { AuditReader, fileBytesMax, fileName } from "./read-log.js";

export interface AuditOptions {
  readonly folder: string;
  readonly rootKey: string;
  /** Store of the configuration location. Closed by the caller. */
  readonly store: BlobStore;
}

interface LogFile {
  readonly id: string;
  readonly handle: FileHandle;
  /** Bytes of complete lines. */
  bytes: number;
  count: number;
  lastLine: Buffer;
  /** Number of lines in the configuration location; -1 if it has none yet. */
  known: number;
}

const endMs = 60_000;
export const endsPrefix = "audit/";
const lineFeed = Buffer.from("\n");

export class AuditLog {
  readonly reader: AuditReader;
  readonly #key: ChainKey;
  readonly #options: AuditOptions;
  readonly #timer = setInterval(() => void this.writeEnd().catch(() => undefined), endMs).unref();
  #file: LogFile;
  #events: AuditEvent[] = [];
  #writing: Promise<void> | undefined;
  #failure: unknown;

  private constructor(options: AuditOptions, file: LogFile) {
    this.#options = options;
    this.#file = file;
    this.#key = new ChainKey(options.rootKey);
    this.reader = new AuditReader(options.folder, this.#key);
  }

  static async open(options: AuditOptions): Promise<AuditLog> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    const log = new AuditLog(options, await newFile(options.folder));
    await log.writeEnd();
    return log;
  }

  /**
   * Throws `storage_unavailable` if the log cannot be written: requests that cannot be recorded are
   * refused.
   */
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
    await this.#writeEnd(this.#file);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.writeEnd();
    await this.#file.handle.close();
  }

  /** Resolves once every line is written or has failed; never rejects. */
  #flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  async #write(): Promise<void> {
    try {
      while (this.#events.length > 0) {
        if (this.#file.bytes >= fileBytesMax) await this.#changeFile();
        // Stored before the first line, so that a removed file is missed.
        if (this.#file.known < 0) await this.#writeEnd(this.#file);
        await this.#append(this.#file, [...this.#events]);
      }
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
    }
  }

  async #append(file: LogFile, events: readonly AuditEvent[]): Promise<void> {
    let { lastLine } = file;
    const lines = events.flatMap((event, i) => {
      const place = { n: file.count + i + 1, previous: digestOf(lastLine) };
      lastLine = this.#key.seal(file.id, { ...place, ...event });
      return [lastLine, lineFeed];
    });
    const bytes = Buffer.concat(lines);
    // At a fixed position: a failed attempt has left the beginning of the same bytes there.
    for (let done = 0; done < bytes.length;) {
      done += (await file.handle.write(bytes, done, undefined, file.bytes + done)).bytesWritten;
    }
    this.#events.splice(0, events.length);
    Object.assign(file, { bytes: file.bytes + bytes.length, count: file.count + events.length, lastLine });
  }

  async #changeFile(): Promise<void> {
    const full = this.#file;
    await this.#writeEnd(full);
    this.#file = await newFile(this.#options.folder);
    await full.handle.close();
  }

  async #writeEnd(file: LogFile): Promise<void> {
    const { id, count, known } = file;
    if (count === known) return;
    await this.#options.store.create(endName(id, count), this.#key.sealCount(id, count));
    if (known >= 0) await this.#options.store.delete([endName(id, known)]);
    file.known = count;
  }
}

/** Counts down, so that the newest comes first in a list. */
function endName(id: string, count: number): string {
  return `${endsPrefix}${id}/${String(Number.MAX_SAFE_INTEGER - count).padStart(16, "0")}`;
}

async function newFile(folder: string): Promise<LogFile> {
  const id = Date.now().toString(16).padStart(12, "0") + randomBytes(8).toString("hex");
  const handle = await open(join(folder, fileName(id)), "wx", 0o600);
  return { id, handle, bytes: 0, count: 0, lastLine: Buffer.alloc(0), known: -1 };
}
