/**
 * Writes an audit log: a file per process, and where it ends, from time to time, to the configuration location. So a file, or
 * the end of one, that is removed shows too.
 */

import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { type BlobStore, SealdexError } from "sealdex/core";
import { type AuditEvent, type ChainEnd, ChainKey } from "./chain.js";
import { fileName } from "./file-name.js";
import { AuditReader } from "./read-log.js";

export interface AuditOptions {
  readonly folder: string;
  readonly rootKey: string;
  /** Of the configuration location. The caller's to close. */
  readonly store: BlobStore;
}

const idBytes = 8;
/** How often the end of the log is written to the configuration location, if there is something new. */
const endMs = 60_000;
/** Only the service reads and writes its log. */
const fileMode = 0o600;

export const endsPrefix = "audit/";

/** Counts down, so that the newest end is the first of a list. */
export function endKey(id: string, { count }: ChainEnd): string {
  return `${endsPrefix}${id}/${String(Number.MAX_SAFE_INTEGER - count).padStart(16, "0")}`;
}

export class AuditLog {
  /** Reads what all processes have written to the folder. */
  readonly reader: AuditReader;
  readonly #id: string;
  readonly #file: FileHandle;
  readonly #key: ChainKey;
  readonly #store: BlobStore;
  #end: ChainEnd;
  #written: ChainEnd | undefined;
  #lines: string[] = [];
  #writing: Promise<void> | undefined;
  #failure: unknown;
  /** Of the file, as far as it is complete. */
  #bytes = 0;
  readonly #timer: NodeJS.Timeout;

  private constructor(id: string, file: FileHandle, { folder, rootKey, store }: AuditOptions) {
    this.#id = id;
    this.#file = file;
    this.#key = new ChainKey(rootKey);
    this.#store = store;
    this.reader = new AuditReader(folder, this.#key);
    this.#end = this.#key.begin(id);
    this.#timer = setInterval(() => {
      this.writeEnd().catch(() => undefined);
    }, endMs).unref();
  }

  /** Creates a file of its own. Its end is written before anything else, so that the file is missed if it is removed. */
  static async open(options: AuditOptions): Promise<AuditLog> {
    const id = Date.now().toString(16).padStart(12, "0") + randomBytes(idBytes).toString("hex");
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    const file = await open(join(options.folder, fileName(id)), "ax", fileMode);
    const log = new AuditLog(id, file, options);
    await log.writeEnd();
    return log;
  }

  /** Throws `storage_unavailable` if the log cannot be written: what is not recorded is not done. */
  async check(): Promise<void> {
    if (this.#failure === undefined) return;
    await this.#flush();
    if (this.#failure === undefined) return;
    const options = { cause: this.#failure };
    throw new SealdexError("storage_unavailable", "the audit log cannot be written", options);
  }

  /** Adds a line, which is written soon. */
  add(event: AuditEvent): void {
    const { line, end } = this.#key.append(this.#end, event);
    this.#end = end;
    this.#lines.push(line);
    void this.#flush();
  }

  /** Writes where the log ends to the configuration location. */
  async writeEnd(): Promise<void> {
    await this.#flush();
    const [end, before] = [this.#end, this.#written];
    if (this.#failure !== undefined || end.count === before?.count) return;
    await this.#store.create(endKey(this.#id, end), Buffer.from(this.#key.sealEnd(this.#id, end)));
    this.#written = end;
    if (before !== undefined) await this.#store.delete([endKey(this.#id, before)]);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.writeEnd();
    await this.#file.close();
  }

  /** Resolves once every line is in the file, or could not be written; never rejects. */
  #flush(): Promise<void> {
    this.#writing ??= this.#writeLines().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeLines(): Promise<void> {
    while (this.#lines.length > 0) {
      const lines = this.#lines;
      this.#lines = [];
      try {
        const bytes = Buffer.from(lines.join(""));
        // What an attempt that failed has left of them would break the chain.
        if (this.#failure !== undefined) await this.#file.truncate(this.#bytes);
        await this.#file.appendFile(bytes);
        this.#bytes += bytes.length;
        this.#failure = undefined;
      } catch (error) {
        this.#lines = [...lines, ...this.#lines];
        this.#failure = error;
        return;
      }
    }
  }
}
