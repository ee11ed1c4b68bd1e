/** Keeps the documents of a folder in step with an index: changed, moved and deleted files. */

import type { Document, FileRecord } from "../documents/document.js";
import { digestOf } from "../documents/document.js";
import type { DocumentIndex } from "../documents/document-index.js";
import { DocumentReader } from "./document-reader.js";
import { type Folder, type FolderFile, fileBytesMax } from "./folder.js";

export interface SyncState {
  readonly running: boolean;
  /** Files that this run has compared so far. */
  readonly files: number;
  /** Files that were left out, and the reason. */
  readonly skipped: ReadonlyMap<string, string>;
  /** When a whole run last ended. */
  readonly finishedAt?: Date;
  readonly failure?: string | undefined;
}

/** A commit ends with the file that reaches one of these limits. */
const batchFiles = 500;
const batchCharacters = 1_000_000;
/** More changes at once are found by comparing the whole folder. */
const changesMax = 1000;
const retryMs = 30_000;
/** Also finds changes that the watcher or another server missed. */
const wholeRunMs = 60 * 60_000;

export class FolderSync {
  /** Only files of this source are changed or removed: other servers have other sources. */
  readonly source: string;
  private readonly folder: Folder;
  private readonly index: DocumentIndex;
  private readonly log: (text: string) => void;
  private readonly reader = new DocumentReader();
  private readonly stopping = new AbortController();
  private readonly skipped = new Map<string, string>();
  /** Folders with documents. If one of them is deleted or moved, the watcher may name only itself. */
  private readonly folders = new Set<string>();
  private current: Omit<SyncState, "skipped"> = { running: false, files: 0 };
  private running: Promise<void> = Promise.resolve();
  private wholeRun: NodeJS.Timeout | undefined;

  constructor(folder: Folder, source: string, index: DocumentIndex, log: (text: string) => void) {
    this.folder = folder;
    this.source = source;
    this.index = index;
    this.log = log;
  }

  get state(): SyncState {
    return { ...this.current, skipped: this.skipped };
  }

  /** Compares the whole folder, or only these paths; one call after the other. */
  update(paths?: readonly string[]): Promise<void> {
    this.running = this.running.then(() => this.run(paths && paths.length <= changesMax ? paths : undefined));
    return this.running;
  }

  /** Ends after the commit that is running. */
  async stop(): Promise<void> {
    this.stopping.abort();
    clearTimeout(this.wholeRun);
    await this.running;
  }

  private async run(paths: readonly string[] | undefined): Promise<void> {
    if (this.stopping.signal.aborted) return;
    this.current = { ...this.current, running: true, files: 0 };
    try {
      const isWhole = paths === undefined || !(await this.compareFiles(paths));
      if (isWhole) await this.compareFolder();

      this.current = {
        ...this.current,
        running: false,
        failure: undefined,
        ...(isWhole && { finishedAt: new Date() }),
      };
      if (isWhole) this.repeatAfter(wholeRunMs);
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      const failure = error instanceof Error ? error.message : "unknown";
      this.log(`The folder could not be compared: ${failure}`);
      this.current = { ...this.current, running: false, failure };
      this.repeatAfter(retryMs);
    }
  }

  private repeatAfter(ms: number): void {
    clearTimeout(this.wholeRun);
    if (this.stopping.signal.aborted) return;
    this.wholeRun = setTimeout(() => void this.update(), ms);
    this.wholeRun.unref();
  }

  private async compareFolder(): Promise<void> {
    this.skipped.clear();
    const records = await this.index.records(this.source);
    const gone = new Set(records.keys());
    for (const path of gone) this.addFolders(path);
    const batch = new Batch(this.index);
    for await (const file of this.folder.files()) {
      if (this.stopping.signal.aborted) return;
      const record = records.get(file.path);
      // A file that was only touched, or copied from another machine, is read again.
      const isSame = record?.size === file.size && record.mtimeMs === file.mtimeMs;
      if (isSame || (await this.compareFile(batch, file, record))) gone.delete(file.path);
      this.current = { ...this.current, files: this.current.files + 1 };
    }
    if (this.current.files === 0 && gone.size > 0)
      throw new Error("it is empty, perhaps not mounted, so nothing was removed from the index");
    await batch.flush();
    await this.index.remove(this.source, [...gone]);
  }

  /** False if one of the paths is a folder, or has rules of files to ignore: the whole folder must be compared. */
  private async compareFiles(paths: readonly string[]): Promise<boolean> {
    const gone: string[] = [];
    const batch = new Batch(this.index);
    for (const path of paths) {
      const file = await this.folder.find(path);
      const record = await this.index.record(this.source, path);
      if (!file && !record) {
        const isRules = /(^|\/)\.gitignore$/.test(path);
        if (isRules || this.folders.has(path) || (await this.folder.isFolder(path))) return false;
        continue;
      }
      this.skipped.delete(path);
      if (!file || !(await this.compareFile(batch, file, record))) gone.push(path);
    }
    await batch.flush();
    await this.index.remove(this.source, gone);
    return true;
  }

  /** False if the file cannot be read: an older version of it is then removed. */
  private async compareFile(batch: Batch, file: FolderFile, stored?: FileRecord): Promise<boolean> {
    const { path, size, mtimeMs } = file;
    let document: Document;
    try {
      if (size > fileBytesMax) throw new Error(`larger than ${fileBytesMax / 1024 / 1024} MiB`);
      const bytes = await this.folder.read(path);
      const digest = digestOf(bytes);
      if (digest === stored?.digest) return true;
      const text = await this.reader.read(path, bytes, this.stopping.signal);
      document = { source: this.source, path, text, record: { digest, size, mtimeMs } };
    } catch (error) {
      // A document whose reading was stopped stays in the index as it was.
      this.stopping.signal.throwIfAborted();
      this.skipped.set(path, error instanceof Error ? error.message : "unknown");
      return false;
    }
    this.addFolders(path);
    await batch.add(document, stored !== undefined);
    return true;
  }

  private addFolders(path: string): void {
    for (let i = path.indexOf("/"); i > 0; i = path.indexOf("/", i + 1)) this.folders.add(path.slice(0, i));
  }
}

/** Files that are stored in one commit. */
class Batch {
  private readonly index: DocumentIndex;
  private documents: Document[] = [];
  private replaced: Document[] = [];
  private characters = 0;

  constructor(index: DocumentIndex) {
    this.index = index;
  }

  async add(document: Document, replaces: boolean): Promise<void> {
    this.documents.push(document);
    if (replaces) this.replaced.push(document);
    this.characters += document.text.length;
    if (this.documents.length >= batchFiles || this.characters >= batchCharacters) await this.flush();
  }

  async flush(): Promise<void> {
    const { documents, replaced } = this;
    this.documents = [];
    this.replaced = [];
    this.characters = 0;
    if (documents.length > 0) await this.index.store(documents, replaced);
  }
}
