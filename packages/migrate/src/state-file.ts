/**
 * Where an interrupted migration resumes: a small file, which no longer exists when the migration
 * has ended. It holds a cursor, often an id of the source, and no keys.
 */

import { open, readFile, rename, rm } from "node:fs/promises";
import { invalid } from "./source.js";

export interface Progress {
  /** The source, its version, the names of fields, the index and the namespace: another migration starts over. */
  readonly migration: string;
  readonly cursor: string | number;
  /** Rows before the cursor. */
  readonly rows: number;
  /** A state of the index that has those rows. An index without this state in its history starts over. */
  readonly anchor: string;
}

export class StateFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Undefined if there is none, or one of another migration. Refuses another file, which would be replaced. */
  async read(migration: string): Promise<Progress | undefined> {
    let text: string;
    try {
      text = await readFile(this.#path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    const progress = parsed(text);
    if (progress === undefined) {
      throw invalid(`${this.#path}: expected a place to resume from; to start over, delete the file`);
    }
    return progress.migration === migration ? progress : undefined;
  }

  /** Whole or not at all, whatever ends the process. */
  async write(progress: Progress): Promise<void> {
    const written = `${this.#path}.new`;
    const file = await open(written, "w", 0o600);
    try {
      await file.writeFile(JSON.stringify(progress));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(written, this.#path);
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}

function parsed(text: string): Progress | undefined {
  try {
    const { migration, cursor, rows, anchor } = JSON.parse(text) as Progress;
    const isText = [migration, anchor].every((each) => typeof each === "string");
    const isPlace = typeof cursor === "string" || typeof cursor === "number";
    return isText && isPlace && typeof rows === "number" ? { migration, cursor, rows, anchor } : undefined;
  } catch {
    return undefined;
  }
}
